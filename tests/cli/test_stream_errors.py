"""Lines of a stream that cannot be used: the stream goes on, or ends after all answers before."""

import json

import pytest

from ..houses import houses, jsonl, write
from ..runner import refused, run
from ._outside import streamed

pytestmark = pytest.mark.usefixtures("here")


def lines_of(rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def good_rows(n):
    return [{"x": i / 7, "kind": "ab"[i % 2], "y": 3.0 * i} for i in range(n)]


@pytest.mark.full
@pytest.mark.parametrize(
    "first",
    ['{"y": 1.0}', '{"x": null, "y": 2.0}', '{"x": 1.0, "y": Infinity}', "[1, 2]", "{"],
)
def test_a_first_line_with_nothing_usable_is_no_end(first):
    answers, _ = streamed(first.encode() + b"\n" + lines_of(good_rows(20)), "-t", "y")
    answers = list(map(json.loads, answers))
    assert [a["line"] for a in answers] == list(range(1, 22))
    assert "error" in answers[0]
    assert not any("error" in a for a in answers[1:])
    assert isinstance(answers[-1]["prediction"], float)


def test_an_infinite_target_in_csv_is_no_class():
    answers, _ = streamed(b"x,y\n1,inf\n2,3\n3,4\n4,-Infinity\n", "-t", "y")
    assert [a.split(",")[2][:31] for a in answers[1:]] == [
        *("the target 'y' is infinite; it ", "", "", "the target 'y' is infinite; it ")
    ]


def test_on_error_stop_answers_all_lines_before():
    rows = good_rows(100)
    rows[90]["x"] = "many"
    answers, said = streamed(
        lines_of(rows), "-t", "y", "--checkpoint", "s", "--on-error", "stop", code=2
    )
    assert [json.loads(a)["line"] for a in answers] == list(range(1, 91))
    assert "91: column 'x' should be a number, got 'many'" in said
    asked = [{"x": i / 7, "kind": "a"} for i in range(30)]
    asked[12]["x"] = "many"
    answers, said = streamed(
        lines_of(asked), "-t", "y", "--checkpoint", "s", "--on-error", "stop", code=2
    )
    assert [json.loads(a)["line"] for a in answers] == list(range(91, 103))
    assert "line 103: column 'x' should be a number, got 'many'" in said


def test_a_late_target_without_ids_names_the_option():
    rows = [*good_rows(3), {"key": 3, "y": 1.0}]
    _, said = streamed(lines_of(rows), "-t", "y", "--on-error", "stop", code=2)
    assert "line 4: it has none of the columns" in said
    assert "a target that comes late needs an id (--id)" in said
    _, said = streamed(lines_of([*rows[:3], {"key": 3}]), "-t", "y", "--on-error", "stop", code=2)
    assert "line 4: it has none of the columns" in said
    assert "--id" not in said


@pytest.mark.full
def test_std_and_proba_with_a_model():
    for target, kinds, wrong, right in [
        ("price", houses(60), "--proba", "--std"),
        ("city", houses(60), "--std", "--proba"),
    ]:
        run("train", write(kinds, "houses.jsonl"), "-t", target, "-q")
        said = refused("stream", "--model", "model.greville", wrong)
        assert said.startswith(f"{wrong}: the model predicts")
        assert said.partition("; ")[2].startswith(f"pass {right} ")
        (answer,) = streamed(jsonl(kinds[:1]), "--model", "model.greville", right)[0]
        assert right[2:] in json.loads(answer)
        said = refused("stream", "--model", "model.greville", "--task", "regression")
        assert said == "--task: model.greville has its own setting; leave this option out."


def test_labels_among_numbers_are_said():
    rows = [{"x": 1, "y": "a"}, {"x": 2, "y": 2.5}, {"x": 3, "y": 4}]
    said = "Warning: 'y' is learned as labels, since 'a' is no number"
    assert said in streamed(lines_of(rows), "-t", "y")[1]
    assert said not in streamed(lines_of(rows), "-t", "y", "--task", "classification")[1]
    assert said not in streamed(lines_of(rows), "-t", "y", "--task", "regression")[1]
    assert "Warning" not in streamed(lines_of([{**row, "y": "b"} for row in rows]), "-t", "y")[1]
