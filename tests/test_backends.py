"""Which cases run on which of the other backends."""

from collections import Counter
from types import SimpleNamespace

from . import backends


class Item(SimpleNamespace):
    """What is looked at of a test."""

    __hash__ = object.__hash__

    def __init__(self, test, case, backend):
        spec = SimpleNamespace(params={"backend": backend, "case": case}, id=f"{backend}-{case}")
        super().__init__(path="test_it.py", cls=None, originalname=test, callspec=spec)


def test_cases_take_turns_on_other_backends(monkeypatch):
    monkeypatch.setattr(backends, "find_spec", lambda package: package)
    names = [backends.TUNED, *backends.OTHERS]
    many = [Item("many", case, name) for case in range(10) for name in names]
    single = [Item("single", 0, name) for name in names]
    left_out = backends.others_turn([*many, *single, SimpleNamespace(path="no case")])
    kept = [item.callspec.params for item in many if item not in left_out]
    assert Counter(each["case"] for each in kept) == dict.fromkeys(range(10), 2)
    assert Counter(each["backend"] for each in kept) == dict(zip(names, (10, 5, 5), strict=True))
    assert not left_out & set(single)


def test_one_backend_alone_has_all_turns(monkeypatch):
    monkeypatch.setattr(backends, "find_spec", lambda package: package != "torch")
    items = [Item("many", case, name) for case in range(10) for name in backends.OTHERS]
    assert backends.others_turn(items) == set()
