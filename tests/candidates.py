"""Candidates of a comparison. They are started in processes that import this and little else."""

import numpy as np


class Runner:
    """Reports fixed times, so that the load of the machine does not matter."""

    def __init__(self, seconds, answer):
        self.seconds, self.result = seconds, answer

    def round(self, k):
        return self.seconds

    def answer(self):
        return self.result


def runner(seconds, answer):
    return Runner(seconds, np.asarray(answer))


def missing():
    import a_peer_that_is_not_there  # noqa: F401


def broken():
    raise ArithmeticError("it cannot")
