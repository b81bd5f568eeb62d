"""The routines that run without Python's lock."""

import numpy as np

from greville.backend import _unlocked as unlocked

from ..oracles import relative_error


def test_the_routines(rng):
    assert unlocked.available()
    H, B = rng.normal(size=(20, 7)), np.asfortranarray(rng.normal(size=(7, 3)))
    G = np.zeros((7, 7), order="F")
    unlocked.add_gram(G, H)
    assert relative_error(G, np.triu(H.T @ H)) < 1e-14
    F = np.asfortranarray(H)
    S = np.zeros((7, 7), order="F")
    unlocked.add_gram_of_columns(S, F)
    assert relative_error(S, G) < 1e-14
    assert unlocked.root_in_place(G)
    assert relative_error(G.T @ G, H.T @ H) < 1e-14
    X = B.copy(order="F")
    unlocked.solve_transposed_in_place(G, X)
    assert relative_error(G.T @ X, B) < 1e-13
    assert not unlocked.root_in_place(-np.eye(3, order="F"))
