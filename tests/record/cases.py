"""The cases by name, and how they are run."""

import fnmatch
import itertools
import os
import tempfile
import warnings
from importlib import import_module
from pathlib import Path

from .outcome import plain, without_paths

# A group of names, and the file of its outcomes, has the name of its first part.
MODULES = (
    *("solvers", "refusals", "estimators", "models", "classifiers", "layers", "frames"),
    *("tables", "files", "workbooks", "training", "commands", "streams", "forecasts"),
    *("server", "requests"),
)

CASES = {}


def case(name, /, **parameters):
    """Register a function as a case; with dicts of parameters, as a case for each combination.

    The name has the keys of the dicts in braces; the function gets their values. What it returns is
    recorded: see `outcome.plain`. Each case runs in an empty folder of its own.
    """

    def register(function):
        for chosen in itertools.product(*(each.items() for each in parameters.values())):
            keys = dict(zip(parameters, (key for key, _ in chosen), strict=True))
            values = dict(zip(parameters, (value for _, value in chosen), strict=True))
            full = name.format(**keys)
            if full in CASES:
                raise ValueError(f"two cases have the name {full}")
            CASES[full] = lambda values=values: function(**values)
        return function

    return register


def all_cases():
    """All cases, by name; this imports their modules."""
    for module in MODULES:
        import_module(f".{module}", __package__)
    return CASES


def matching(names, patterns):
    """The names that match one of the patterns; all if there are none."""
    if not patterns:
        return list(names)
    return [name for name in names if any(fnmatch.fnmatchcase(name, p) for p in patterns)]


def run(names):
    """The outcomes of these cases, by name, as JSON has them."""
    found = all_cases()
    return {name: _outcome(found[name]) for name in names}


def _outcome(function):
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                try:
                    outcome = dict(plain(function()))
                except Exception as error:
                    outcome = {"raised": plain(error)}
        finally:
            os.chdir(before)
        said = [w for w in warned if not issubclass(w.category, _OF_DEVELOPERS)]
        if said:
            outcome["warnings"] = list(
                dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in said)
            )
        return without_paths(outcome, str(Path(folder).resolve()), folder)


_OF_DEVELOPERS = (DeprecationWarning, PendingDeprecationWarning, ResourceWarning)
