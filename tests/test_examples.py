"""The examples run as scripts, draw a picture, and print what their text claims."""

import os
import re
import runpy
import sys
import tempfile
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from greville import compiled

from . import children

FOLDER = Path(__file__).parent.parent / "examples"
SCRIPTS = {path.stem.removeprefix("plot_"): path for path in FOLDER.glob("plot_*.py")}


def show():
    """plt.show in the place of a window: it counts the figures and what is in them."""
    for number in plt.get_fignums():
        figure = plt.figure(number)
        figure.canvas.draw()
        drawn = [axes for part in [figure, *figure.subfigs] for axes in part.axes]
        print("figure with", sum(axes.has_data() for axes in drawn), "pictures")


def output_of(name, data=None):
    """What an example prints, in a forked process. A warning is an error, and a line on stderr.

    With compiled kernels, if numba is installed, as for those who run it.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:

        def work():
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
            os.environ.pop("GREVILLE_DATA", None)
            if data is not None:
                os.environ["GREVILLE_DATA"] = data
            os.chdir(FOLDER.parent)
            warnings.simplefilter("error")
            plt.switch_backend("Agg")
            plt.close("all")
            plt.show = show
            sys.argv = [str(SCRIPTS[name])]
            try:
                with compiled.use(True):
                    runpy.run_path(sys.argv[0], run_name="__main__")
            finally:
                sys.stdout.flush()
                sys.stderr.flush()

        code = children.forked(work, limit=300)
        out.seek(0)
        err.seek(0)
        said, text = err.read().decode(), out.read().decode()
    assert (code, said) == (0, "")
    pictures = re.findall(r"^figure with (\d+) pictures$", text, re.MULTILINE)
    assert pictures
    assert min(map(int, pictures)) > 0
    return text


def number(text, after):
    """The first number after a text at the start of a line."""
    found = re.search(
        rf"^{re.escape(after)}\D*?(-?[\d,]+(?:\.\d+)?(?:e-?\d+)?)", text, re.MULTILINE
    )
    assert found, f"{after!r} is not in:\n{text}"
    return float(found[1].replace(",", ""))


def row(text, name):
    """All numbers of a line that starts with a name."""
    found = re.search(rf"^{re.escape(name)}  +(.*)$", text, re.MULTILINE)
    assert found, f"{name!r} is not in:\n{text}"
    return [float(each) for each in re.findall(r"-?\d+(?:\.\d+)?", found[1])]


def sensor_drift(text):
    fixed, growing, forgetting, new = (
        row(text, name)
        for name in ("trained once", "learns, keeps all", "learns, forgets", "new at the alarm")
    )
    assert new[2] < 0.08 < forgetting[2] < 0.2  # noise of 0.05
    assert growing[2] > 0.5
    assert fixed[2] > 0.8
    assert new[2] < 1.1 * new[0]
    assert 1500 <= number(text, "first alarm at line") < 1520


def load_forecast(text):
    ours, day, week = (number(text, name) for name in ("greville", "a day ago", "a week ago"))
    assert ours < 0.55 * min(day, week)
    assert 86 < number(text, "in the 90 % interval:") < 94
    assert number(text, "saved:") > 50_000


def growing_intents(text):
    ours, at_once, logistic, sgd = (
        number(text, name)
        for name in (
            "greville, six months",
            "greville, at once",
            "logistic regression, at once",
            "SGD, six months",
        )
    )
    assert ours > 96
    assert abs(ours - at_once) < 0.5
    assert sgd < 40
    assert logistic - ours < 2.5


def digits(text):
    assert number(text, "image layer") < 3.5 < number(text, "random layer")
    assert number(text, "logistic regression") > 6
    assert number(text, " 10 % to a person:") < 0.4


def unlearn_customer(text):
    assert number(text, "largest effect of the customer on a price:") > 20
    assert number(text, "what is left of it after unlearning:") < 1e-7
    assert "refused: these rows cannot be unlearned" in text


def merge_hospitals(text):
    alone = [number(text, f"hospital {i} alone") for i in range(1, 7)]
    merged = number(text, "merged")
    assert merged < min(alone) - 2
    assert merged < number(text, "mean of the six answers")
    assert abs(merged - number(text, "all rows in one place")) < 0.2
    assert number(text, "largest difference of a prediction:") < 1e-9


def sliding_window(text):
    everything, fading, window = (
        row(text, name)
        for name in ("all rides so far", "forgetting, 300 rides", "window of 300 rides")
    )
    assert window[2] < 0.7 * fading[2] < 0.7 * everything[2]
    assert window[2] < 1.1  # where no ride of the old tariff is left
    assert number(text, "largest difference from Ridge on the last 300 rows:") < 1e-8


def river_dicts(text):
    ours = number(text, "mean absolute error of the last 200 houses:")
    assert ours < 0.3 * number(text, "with the mean price so far:")
    others = [number(text, name) for name in ("logistic regression", "adaptive forest")]
    assert number(text, "greville") > max(91, *others)


def pipeline_grid_search(text):
    error = {
        name: number(text, name)
        for name in ("mean price", "ridge", "nothing tuned", "grid search", "TableRegressor")
    }
    assert error["ridge"] < 0.3 * error["mean price"]
    for name in ("nothing tuned", "grid search", "TableRegressor"):
        assert error[name] < 0.85 * error["ridge"]
    assert error["nothing tuned"] < 1.03 * error["grid search"]


def live_alarms(text):
    assert number(text, "leak: found after") <= 60
    assert number(text, "hanging sensor: found after") <= 60
    assert number(text, "false alarms of the monitor:") == 0
    assert number(text, "false alarms of the limit:") >= 5


def time_series(text):
    before, then, after = (
        float(re.search(rf"^{name} +(\d+\.\d+) %", text, re.MULTILINE)[1])
        for name in ("weeks 3 to 19", "week 20", "after week 40")
    )
    assert before > 95
    assert then < 90  # a kind that is not known yet
    assert after > 95
    assert number(text, "where it is sure of nine in ten:") > 97


def reservoir(text):
    error = {
        name: number(text, f"{name}: mean error")
        for name in ("no memory", "lags and products", "reservoir", "no change")
    }
    assert error["reservoir"] < 0.4 * error["lags and products"]
    assert error["lags and products"] < 0.4 * error["no memory"] < error["no change"]
    assert number(text, "largest difference:") < 1e-9


def text(said):
    ours, ridge = (number(said, name) for name in ("greville, text by", "RidgeClassifier, at once"))
    assert ours > 70
    assert abs(ours - ridge) < 2
    assert number(said, "the largest effect of 50 texts:") > 0.01


CLAIMS = {
    check.__name__: check
    for check in (
        *(sensor_drift, load_forecast, growing_intents, digits, unlearn_customer),
        *(merge_hospitals, sliding_window, river_dicts, pipeline_grid_search, live_alarms),
        *(time_series, reservoir, text),
    )
}


def test_every_example_is_tested_and_listed():
    assert CLAIMS.keys() == SCRIPTS.keys()
    for page in ("GALLERY_HEADER.txt", "README.md"):
        listed = re.findall(r"plot_(\w+)(?:`|\.py\))", (FOLDER / page).read_text())
        assert sorted(listed) == sorted(SCRIPTS)


@pytest.mark.parametrize("name", CLAIMS)
def test_an_example_does_what_it_says(name):
    if name == "river_dicts":
        pytest.importorskip("river")
    CLAIMS[name](output_of(name))


def test_intents_of_real_sentences():
    data = os.environ.get("GREVILLE_DATA", "")
    if not data or not (Path(data) / "clinc" / "clinc150-minilm.npz").exists():
        pytest.skip("GREVILLE_DATA has no clinc/clinc150-minilm.npz")
    text = output_of("growing_intents", data)
    assert "sentences of CLINC150" in text
    growing_intents(text)
