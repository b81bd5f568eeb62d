"""``greville stream``: a line in, a line out; late targets, errors and checkpoints."""

import json
from pathlib import Path

import numpy as np

from .cases import case
from .doors import command
from .outcome import about
from .printed import answers, lines, printed

N = 200


def sensor(n=N, seed=0):
    """Rows of a sensor whose rule changes after two thirds."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n)).round(3)
    rule = np.where(np.arange(n) < 2 * n // 3, 1, -1)
    flow = (rule * np.sin(a) + 0.3 * b + 0.05 * rng.normal(size=n)).round(4)
    valve = np.array(["open", "shut", "half"])[rng.integers(0, 3, n)]
    return [
        {"inlet": float(x), "level": float(z), "valve": str(v), "flow": float(y)}
        for x, z, v, y in zip(a, b, valve, flow, strict=True)
    ]


def as_lines(rows):
    """Rows as JSON lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)


def streamed(text, *arguments, some=(0, 1, 2, 50, 120, 180), target="flow"):
    """Some answers, the number of them, the error in thirds, and what was said."""
    code, out, err = command("stream", "--target", target, *arguments, stdin=text)
    found = {"exit": code, "stderr": lines(err)}
    if not out.startswith("{"):
        return {**found, "stdout": lines(out)[:6]}
    said = answers(out)
    return {**found, "lines": len(said), "some": [said[i] for i in some if i < len(said)]}


def errors(text, *arguments):
    """Mean absolute errors before, at and after the change."""
    said = answers(command("stream", "--target", "flow", *arguments, stdin=text)[1])
    flow = [json.loads(line)["flow"] for line in text.splitlines()]
    size = [abs(y - each["prediction"]) for y, each in zip(flow[1:], said[1:], strict=True)]
    return [about(np.mean(size[i:j])) for i, j in ((60, 133), (133, 160), (160, 199))]


OPTIONS = {
    "plain": (),
    "std": ("--std",),
    "no-follow": ("--no-follow",),
    "dynamic": ("--solver", "dynamic", "--alpha", "1.02"),
    "dynamic-auto": ("--solver", "dynamic", "--alpha", "auto"),
    "sliding": ("--solver", "sliding", "--window", "80"),
    "light": ("--solver", "light", "--no-follow"),
    "greville": ("--solver", "greville", "--no-follow"),
    "ignore": ("--ignore", "valve"),
    "quiet": ("--quiet",),
    "unknown-solver": ("--solver", "adam"),
}


@case("streams/options/{arguments}", arguments=OPTIONS)
def answers_lines(arguments):
    """The answers with different solvers and options."""
    text = as_lines(sensor())
    return streamed(text, "--hidden", "10", *arguments)


@case(
    "streams/errors/{arguments}",
    arguments={k: OPTIONS[k] for k in ("plain", "no-follow", "dynamic", "dynamic-auto", "sliding")},
)
def errors_of_answers(arguments):
    """How good the answers are before and after a change."""
    return {"mean errors": errors(as_lines(sensor()), "--hidden", "20", *arguments)}


@case("streams/auto")
def nothing_given():
    """Nothing is given but the target."""
    return {"mean errors": errors(as_lines(sensor()))}


@case("streams/csv")
def csv_lines():
    """CSV after a line of names, answered in CSV."""
    rows = sensor(40)
    text = (
        "\n".join([",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]) + "\n"
    )
    found = streamed(text, "--hidden", "10")
    return {**found, "ragged": streamed(text + "1,2\n", "--hidden", "10")["stderr"]}


@case("streams/classes")
def classes():
    """Labels, with the probabilities of those known so far."""
    rows = [{**row, "flow": "high" if row["flow"] > 0 else "low"} for row in sensor(100)]
    rows[60]["flow"] = "none"
    text = as_lines(rows)
    return {
        "plain": streamed(text, "--hidden", "10", some=(0, 1, 2, 3, 50)),
        "proba": streamed(text, "--hidden", "10", "--proba", some=(0, 1, 2, 50, 70)),
        "std": streamed(text, "--hidden", "10", "--std", some=(0, 1)),
    }


@case("streams/late-targets")
def late_targets():
    """Targets that come later by id, twice, never, or for an unknown id."""
    rows = [{"id": i, **row} for i, row in enumerate(sensor(60))]
    text = [{k: v for k, v in row.items() if k != "flow"} for row in rows[:30]]
    text += [{"id": row["id"], "flow": row["flow"]} for row in rows[:25]]
    text += [
        {"id": 3, "flow": 0.5},
        {"id": 999, "flow": 0.5},
        {"flow": 1.0},
        {"id": None, "inlet": 0.1},
    ]
    text += rows[30:]
    found = streamed(
        as_lines(text), "--id", "id", "--hidden", "10", some=(0, 29, 30, 54, 55, 56, 57, 58, 88)
    )
    twice = as_lines([{"id": 1, "inlet": 0.5}, {"id": 1, "inlet": 0.7}, {"id": 1, "flow": 0.5}])
    return {**found, "same id twice": streamed(twice, "--id", "id")}


BAD = [
    {"inlet": 1.0, "flow": 1.0},
    {"inlet": 2.0, "flow": 2.0},
    {"inlet": 3.0, "flow": 3.0},
]
WRONG = {
    "not-json": "hello\n",
    "infinite": '{"inlet": Infinity, "flow": 1}\n',
    "nan": '{"inlet": NaN, "flow": 1}\n',
    "text-for-target": '{"inlet": 1, "flow": "high"}\n',
    "text-for-number": '{"inlet": "high", "flow": 1}\n',
    "list": "[1, 2]\n",
    "number": "5\n",
    "empty-object": "{}\n",
    "blank-line": "\n",
    "null-target": '{"inlet": 1, "flow": null}\n',
    "unknown-field": '{"inlet": 1, "outlet": 2, "flow": 1}\n',
    "nested": '{"inlet": {"a": 1}, "flow": 1}\n',
    "not-utf8": b'{"inlet": "\xff", "flow": 1}\n',
}


@case("streams/wrong/{line}", line=WRONG)
def wrong_lines(line):
    """A line that cannot be used is answered with an error, or ends the stream."""
    line = line.encode() if isinstance(line, str) else line
    text = as_lines(BAD * 4).encode() + line + as_lines(BAD).encode()
    skip = streamed(text, "--hidden", "5", some=(11, 12, 13, 15))
    stop = streamed(text, "--hidden", "5", "--on-error", "stop", some=(11, 12))
    return {"skip": skip, "stop": stop}


@case("streams/checkpoint")
def checkpoints():
    """A stream that was stopped goes on, and its model has the same bits."""
    rows = sensor()
    every = ("--hidden", "10", "--every", "64")
    whole = streamed(as_lines(rows), *every, "--checkpoint", "whole.greville", some=(199,))
    part = streamed(as_lines(rows[:110]), *every, "--checkpoint", "part.greville", some=(109,))
    rest = streamed(
        as_lines(rows), *every, "--checkpoint", "part.greville", "--replay", some=(0, 89)
    )
    same = Path("whole.greville").read_bytes() == Path("part.greville").read_bytes()
    found = {"whole": whole, "part": part, "rest": rest, "same bits": same}
    found["other target"] = printed("stream", "--target", "level", "--checkpoint", "part.greville")
    found["info"] = printed("info", "part.greville", "--json")
    Path("rows.jsonl").write_text(as_lines(rows), encoding="utf-8")
    return {**found, "score": printed("score", "part.greville", "rows.jsonl", "--json")}


@case("streams/model")
def starts_from_a_model():
    """A stream starts from a trained model, and keeps its columns."""
    rows = sensor()
    Path("rows.jsonl").write_text(as_lines(rows[:150]), encoding="utf-8")
    printed("train", "rows.jsonl", "--target", "flow", "--hidden", "10", "-q")
    text = as_lines([*rows[150:160], {"inlet": "high", "flow": 1.0}, {"valve": "stuck"}])
    found = streamed(text, "--model", "model.greville", some=(0, 1, 9, 10, 11))
    other = printed("stream", "--target", "level", "--model", "model.greville", stdin=text)
    return {
        **found,
        "other target": other,
        "no model": printed("stream", "--model", "none.greville", stdin=text),
    }


@case("streams/nothing")
def nothing_comes():
    """No lines, no target, no names."""
    return {
        "no lines": printed("stream", "--target", "y"),
        "no target": printed("stream", stdin='{"x": 1}\n'),
        "target never comes": printed("stream", "--target", "y", stdin='{"x": 1}\n{"x": 2}\n'),
        "names without target": printed("stream", "--target", "y", stdin="a,b\n1,2\n"),
    }


@case("streams/late-columns")
def late_columns():
    """Fields and categories that come after some rows, and others that end."""
    rows = sensor(90)
    rows = [{**row, **({"pump": i / 10} if i > 30 else {})} for i, row in enumerate(rows)]
    for row in rows[60:]:
        row["valve"] = "stuck"
        del row["level"]
    return streamed(as_lines(rows), "--hidden", "10", some=(30, 31, 60, 61, 89))


@case("streams/watch")
def watches():
    """What is shown of a stream while it runs, at its end."""
    code, out, err = command(
        "stream", "--target", "flow", "--watch", "--hidden", "10", stdin=as_lines(sensor())
    )
    kept = [line for line in lines(err) if not line.startswith(("rate", "mean error"))]
    return {
        "exit": code,
        "lines": len(answers(out)),
        "stderr": [line for line in kept if any(map(str.isalnum, line))][-5:],
    }
