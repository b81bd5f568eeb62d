"""Tables of many kinds: how the command reads each of them, and what it learns from some."""

from pathlib import Path

import numpy as np

from .cases import case
from .printed import cells, printed

N = 60
DAYS = np.datetime64("2020-01-01") + np.arange(0, 11 * N, 11)


def numbers(seed=0, low=-3000, high=6000):
    return np.round(np.random.default_rng(seed).uniform(low, high, N), 2)


def _table(*columns, names="x,z,y", separator=",", end="\n"):
    """Lines of text: a column of the table's kind, a wave, and a target that follows both."""
    lines = [names.replace(",", separator)] if names else []
    lines += [separator.join(map(str, row)) for row in zip(*columns, strict=True)]
    return end.join(lines) + end


WAVE = [f"{each:.4f}" for each in np.sin(np.arange(N))]
TARGET = [f"{10 + each / 500:.2f}" for each in numbers()]


def column(values, **more):
    """A table whose column x is written in some way."""
    return _table(values, WAVE, TARGET, **more)


def _german(x):
    return f"{x:,.2f}".translate(str.maketrans(",.", ".,"))


def _quoted(values):
    return [f'"{each}"' for each in values]


def _gaps(*notations):
    """Every fifth number is missing, in one of these notations."""
    written = [f"{each:.2f}" for each in numbers()]
    return [
        notations[i // 5 % len(notations)] if i % 5 == 0 else each for i, each in enumerate(written)
    ]


WORDS = tuple("the pump near gate seven makes a noise that nobody heard".split())  # noqa: SIM905
SENTENCES = [" ".join(np.random.default_rng(i).permutation(WORDS)[:6]) for i in range(N)]

# Kinds of CSV: what is in the file.
TEXTS = {
    "comma": column(numbers()),
    "semicolon": column(numbers(), separator=";"),
    "tab": column(numbers(), separator="\t"),
    "bar": column(numbers(), separator="|"),
    "blanks": column(numbers(), separator="   "),
    "crlf": column(numbers(), end="\r\n"),
    "decimal-comma": _table(
        *(
            [each.replace(".", ",") for each in map(str, values)]
            for values in (numbers(), WAVE, TARGET)
        ),
        separator=";",
    ),
    "bom": "\ufeff" + column(numbers()),
    "quoted-newlines": column(_quoted(f"{city}\nNorth" for city in ("Ulm", "Bonn") * (N // 2))),
    "quoted-separators": column(
        _quoted(f'{city}, "old" town'.replace('"', '""') for city in ("Ulm", "Bonn") * (N // 2))
    ),
    "open-quote": column(['"Ulm' if i == 30 else "Bonn" for i in range(N)]),
    "title-lines": "Measured in May\nby the north gate\n\n" + column(numbers()),
    "comments": "# made by a logger\n# x z y\n" + column(numbers()),
    "no-header": _table(numbers(), WAVE, TARGET, names=""),
    "doubtful-header": _table(
        ["setosa", "virginica"] * (N // 2), WAVE, TARGET, names="setosa,0.5,1.5"
    ),
    "duplicate-names": _table(numbers(), WAVE, TARGET, names="x,x,y"),
    "empty-name": _table(numbers(), WAVE, TARGET, names=",z,y"),
    "gaps": column(_gaps("", "NA", "n/a", "null", "-", "NaN", "missing", "?")),
    "gap-numbers": column(_gaps("-99999")),
    "gaps-in-target": _table(
        numbers(), WAVE, [("" if i % 6 == 0 else y) for i, y in enumerate(TARGET)]
    ),
    "currency": column(_quoted(f"${abs(each):,.2f}" for each in numbers())),
    "euro": column([f"{_german(each)} €" for each in numbers()], separator=";"),
    "percent": column([f"{abs(each) / 100:.1f} %" for each in numbers()]),
    "units": column([f"{abs(each):.1f} kg" for each in numbers()]),
    "thousands": column(_quoted(f"{each:,.2f}" for each in numbers())),
    "apostrophes": column([f"{abs(each):,.2f}".replace(",", "'") for each in numbers()]),
    "ambiguous-thousands": column(_quoted(f"{abs(each) + 1000:,.0f}" for each in numbers())),
    "three-decimals": column([f"{abs(each) / 10:.3f}" for each in numbers()]),
    "accounting": column([f"({-each:.1f})" if each < 0 else f"{each:.1f}" for each in numbers()]),
    "dates-iso": column(DAYS),
    "dates-german": column([f"{d.day:02}.{d.month:02}.{d.year}" for d in DAYS.tolist()]),
    "dates-american": column([f"{d.month:02}/{d.day:02}/{d.year}" for d in DAYS.tolist()]),
    "dates-ambiguous": column([f"{i % 12 + 1:02}/{i % 7 + 1:02}/2020" for i in range(N)]),
    "dates-compact": column([str(day).replace("-", "") for day in DAYS]),
    "dates-words": column([f"{d:%b} {d.day} {d.year}" for d in DAYS.tolist()]),
    "times": column([f"{day}T{i % 24:02}:30:00Z" for i, day in enumerate(DAYS)]),
    "clock": column([f"{i % 24:02}:{i % 60:02}" for i in range(N)]),
    "unix-time": _table(1_600_000_000 + 3600 * np.arange(N), WAVE, TARGET, names="time,z,y"),
    "booleans": column(["yes", "no", "no"] * (N // 3)),
    "booleans-of-numbers": column([0, 1, 1] * (N // 3)),
    "leading-zeros": column([f"0{1000 + i % 7}" for i in range(N)]),
    "ids": column([f"customer-{i:04}" for i in range(N)]),
    "counting-ids": _table(np.arange(1, N + 1), WAVE, TARGET, names="id,z,y"),
    "free-text": column(SENTENCES),
    "many-categories": column([f"v{i % 55}" for i in range(N)]),
    "categories-with-blanks": column([" Ulm", "Ulm ", "Bonn"] * (N // 3)),
    "constant": column([7] * N),
    "empty-column": column([""] * N),
    "mixed": column([each if i % 5 else "broken" for i, each in enumerate(numbers())]),
    "few-words": column([each if i != 33 else "n.n." for i, each in enumerate(numbers())]),
    "outlier": column([each if i != 33 else 1e12 for i, each in enumerate(numbers())]),
    "infinite": column([each if i != 33 else "inf" for i, each in enumerate(numbers())]),
    "ragged": column(numbers()) + "1,2,3,4,5\n1\n",
    "classes": _table(numbers(), WAVE, ["good" if float(y) > 12 else "bad" for y in TARGET]),
    "whole-number-target": _table(numbers(), WAVE, [int(float(y)) % 3 for y in TARGET]),
    "constant-target": _table(numbers(), WAVE, [1] * N),
    "control-characters": column(["\x1b[31mred", "blue"] * (N // 2)),
    "one-row": "x,z,y\n1,2,3\n",
    "header-only": "x,z,y\n",
    "empty": "",
    "one-column": "y\n" + "\n".join(TARGET) + "\n",
    "no-target": _table(numbers(), WAVE, TARGET, names="x,z,t"),
    "junk": "".join(chr(i * 37 % 256) for i in range(600)),
}

# What to say besides the file.
OPTIONS = {
    "ambiguous-thousands": ("--decimal", ","),
    "dates-ambiguous": ("--date-format", "%d/%m/%Y"),
    "gap-numbers": ("--na", "-99999"),
    "no-header": ("--no-header",),
    "booleans-of-numbers": ("--categorical", "x"),
    "ids": ("--features", "x,z"),
    "few-words": ("--on-error", "skip"),
    "ragged": ("--on-error", "skip"),
    "open-quote": ("--on-error", "skip"),
    "infinite": ("--on-error", "skip"),
    "whole-number-target": ("--task", "regression"),
    "comma": ("--ignore", "x"),
    "title-lines": ("--delimiter", ","),
    "bar": ("--delimiter", ";"),
}
# Those from which a model is learned.
LEARNED = (
    *(
        "comma",
        "decimal-comma",
        "gaps",
        "gaps-in-target",
        "currency",
        "dates-german",
        "times",
        "booleans",
    ),
    *(
        "leading-zeros",
        "free-text",
        "many-categories",
        "mixed",
        "outlier",
        "classes",
        "quoted-newlines",
    ),
    *("header-only", "constant-target", "no-target", "infinite"),
)


def _written(text):
    Path("table.csv").write_bytes(text.encode("utf-8"))
    return "table.csv"


@case("tables/check/{text}", text=TEXTS)
def checks(text):
    """How the file is read."""
    return printed("check", _written(text), "--target", "y", "--json")


@case("tables/options/{which}", which={name: (TEXTS[name], OPTIONS[name]) for name in OPTIONS})
def checks_with_options(which):
    """How the file is read when an option says how."""
    text, options = which
    target = "2" if "--no-header" in options else "y"
    return printed("check", _written(text), "--target", target, "--json", *options)


@case("tables/learn/{text}", text={name: TEXTS[name] for name in LEARNED})
def learns(text):
    """What is learned from the file, and predicted for it."""
    path = _written(text)
    found = {"train": printed("train", path, "--target", "y", "--hidden", "6", "--json")}
    if found["train"]["exit"]:
        return found
    found["train"]["stdout"].pop("columns")  # as in info
    sure = "--proba" if found["train"]["stdout"]["task"] == "classification" else "--std"
    found["predict"] = printed("predict", "model.greville", path, "-o", "out.csv", sure)
    return {
        **found,
        "predicted": cells("out.csv", "prediction"),
        "score": printed("score", "model.greville", path, "--json"),
        "info": printed("info", "model.greville", "--json"),
    }


@case("tables/text/check")
def checks_in_words():
    """What ``check`` prints for people."""
    return printed("check", _written(TEXTS["gaps"]), "--target", "y")
