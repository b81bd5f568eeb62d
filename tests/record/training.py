"""``greville train``: options, files, mistakes."""

import csv
from pathlib import Path

from .cases import case
from .frames import dicts, houses
from .printed import printed

N = 150


def write(path, first=0, last=N, **more):
    """Rows of the table of houses, as CSV; `more` replaces or adds columns."""
    columns, price = houses(N)
    rows = dicts({**columns, "price": price.tolist(), **more})[first:last]
    with Path(path).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def states():
    """A class for each house."""
    _, price = houses(N)
    return ["cheap" if each < 120_000 else "dear" if each < 220_000 else "castle" for each in price]


def train(*arguments, path=None, output="model.greville"):
    """Train a small model of the houses."""
    path = path or write("houses.csv")
    return printed("train", path, "--target", "price", "--hidden", "8", "-o", output, *arguments)


TRAIN = {
    "plain": (),
    "json": ("--json",),
    "quiet": ("--quiet",),
    "test": ("--test", "0.2", "--json"),
    "greville": ("--solver", "greville", "--json"),
    "dynamic": ("--solver", "dynamic", "--alpha", "1.01", "--json"),
    "dynamic-auto": ("--solver", "dynamic", "--alpha", "auto", "--json"),
    "sliding": ("--solver", "sliding", "--window", "60", "--json"),
    "light": ("--solver", "light", "--json"),
    "epsilon": ("--epsilon", "0.5", "--json"),
    "seed": ("--seed", "7", "--json"),
    "features": ("--features", "area,city", "--json"),
    "classification": ("--target", "city", "--task", "classification", "--json"),
    "numbers-as-classes": ("--task", "classification"),
    "unknown-solver": ("--solver", "adam"),
    "unknown-target": ("--target", "colour"),
    "alpha-for-opium": ("--alpha", "1.01"),
    "no-units": ("--hidden", "0"),
    "units-a-word": ("--hidden", "many"),
    "test-too-much": ("--test", "1.5"),
    "unknown-option": ("--depth", "3"),
    "output-in-no-folder": ("-o", "nowhere/model.greville"),
    "like-nothing": ("--like", "nothing.greville"),
}


@case("commands/train/{arguments}", arguments=TRAIN)
def trains(arguments):
    """``train`` with options, right and wrong."""
    found = train(*arguments)
    if isinstance(found.get("stdout"), dict):
        found["stdout"].pop("columns", None)
    return {**found, "files": sorted(path.name for path in Path().iterdir())}


@case("commands/train/from-a-pipe")
def trains_from_a_pipe():
    """Standard input as a table."""
    text = Path(write("houses.csv")).read_bytes()
    found = printed("train", "-", "--target", "price", "--hidden", "8", stdin=text)
    return {**found, "score": printed("score", "model.greville", "houses.csv", "--json")}


@case("commands/train/two-files")
def trains_on_two_files():
    """Two files, and one with the same rows, make the same model."""
    parts = write("a.csv", 0, 70), write("b.csv", 70)
    printed("train", *parts, "--target", "price", "--hidden", "8", "-o", "two.greville")
    train(output="one.greville")
    scores = [
        printed("score", name, "houses.csv", "--json") for name in ("one.greville", "two.greville")
    ]
    pattern = printed("train", "[ab].csv", "--target", "price", "--hidden", "8", "--quiet")
    return {
        "one": scores[0]["stdout"]["rmse"],
        "two": scores[1]["stdout"]["rmse"],
        "pattern": pattern,
    }


@case("commands/train/resume")
def resumes():
    """More rows later make the model of one run."""
    found = {"first": train(path=write("a.csv", 0, 70))}
    found["more"] = printed("train", write("b.csv", 70), "--resume", "model.greville")
    found["score"] = printed("score", "model.greville", write("houses.csv"), "--json")
    changed = write("c.csv", city=[str(i) for i in range(N)])
    return {**found, "other columns": printed("train", changed, "--resume", "model.greville")}


@case("commands/train/checkpoint")
def continues_after_a_checkpoint():
    """A checkpoint that is complete, and another table with the same checkpoint."""
    found = {"first": train("--checkpoint", "run.greville", "--every", "50")}
    found["again"] = train("--checkpoint", "run.greville", "--every", "50")
    found["other"] = train("--checkpoint", "run.greville", path=write("b.csv", 70))
    return found


@case("commands/train/on-error")
def trains_with_errors():
    """Rows that cannot be used stop the command, or are skipped and counted."""
    area = ["n.n." if i == 100 else str(50 + i) for i in range(N)]
    path = write("houses.csv", area=area)
    return {"stop": train(path=path), "skip": train("--on-error", "skip", path=path)}
