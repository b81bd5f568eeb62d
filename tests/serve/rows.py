"""Rows to learn, and the model of them without a server."""

import numpy as np

import greville
from greville.tables import RowErrors, Stream

SETTINGS = {"task": "numbers", "hidden": 20}
NEW = ("--target", "y", "--hidden", "20")  # the same for the command

N = 300  # rows that a server learns first


def rows(n, start=0, seed=0):
    rng = np.random.default_rng([seed, start])
    return [
        {"a": round(float(a), 6), "b": round(float(b), 6), "kind": "xyz"[k % 3], "y": float(a * b)}
        for k, (a, b) in enumerate(rng.normal(size=(n, 2)))
    ]


def taught(server):
    """Have a server learn rows."""
    learned = {"learned": N, "repeated": 0, "position": N}
    assert server.post("/learn", rows(N)) == (200, learned)
    return server


def inputs(row):
    return {name: value for name, value in row.items() if name != "y"}


def offline(some, step=50, **settings):
    """A stream that learns the rows, some at a time, in no server."""
    stream = Stream("y", "id", **SETTINGS | settings)
    for start in range(0, len(some), step):
        stream.answer(some[start : start + step], start + 1, RowErrors())
    return stream


def same_model(path, stream):
    """Whether the model in a file is that which a stream has learned, to the bit."""
    probe = [inputs(row) for row in rows(50, seed=9)]
    other = path.with_name("offline.greville")
    greville.save(stream, other)
    ours, theirs = greville.load(path), greville.load(other)
    found, wanted = (each.settled().answers_to_rows(probe) for each in (ours, theirs))
    assert np.array_equal(found.prediction, wanted.prediction)
    assert ours.rows == theirs.rows
    return True
