"""Whether an installed greville works: ``python -I smoke.py``, in any folder.

It needs nothing but the package. ``python -I smoke.py cli`` tests the command, of greville[cli].
"""

import csv
import json
import subprocess
import sys
import sysconfig
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import greville


def check(holds, what):
    if not holds:
        sys.exit(f"smoke test: {what}")


def data(n_rows=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3))
    return X, np.sin(X[:, 0]) + 0.5 * X[:, 1]


def library():
    """What the package does with nothing but the dependencies that it requires."""
    installed = Path(sysconfig.get_path("purelib")).resolve()
    found = Path(greville.__file__).resolve()
    check(found.is_relative_to(installed), f"greville comes from {found}, not from {installed}")
    check(greville.__version__ == version("greville"), "two versions")
    check((files("greville") / "py.typed").is_file(), "py.typed is missing")

    X, y = data()
    model = greville.ELMRegressor(40, random_state=0).fit(X[:250], y[:250])
    before = model.score(X[250:], y[250:])
    check(before > 0.95, f"R² is {before}")
    for row, target in zip(X[250:], y[250:], strict=True):
        model.learn_one(row, target)
    whole = greville.ELMRegressor(40, random_state=0).fit(X[:250], y[:250])
    whole.partial_fit(X[250:], y[250:])
    check(np.allclose(model.predict(X), whole.predict(X)), "rows one by one are not those at once")
    labels = np.where(y > 0, "up", "down")
    classifier = greville.ELMClassifier(40, random_state=0).fit(X, labels)
    check(classifier.score(X, labels) > 0.9, "labels are not learned")
    check(len(greville.datasets.ecg(100)[1]) == 100, "the ECG did not come along")
    page = files("greville") / "serve" / "page" / "index.html"
    check(page.is_file(), "the server's page is missing")


def refusals():
    """What is said where an extra is missing: its name, and how to install it."""
    check(find_spec("safetensors") is None, "safetensors is installed here")
    said = "nothing"
    try:
        greville.save(greville.ELMRegressor(5).fit(*data(50)), "model.greville")
    except greville.persistence.ModelFileError as error:
        said = str(error)
    check("greville[files]" in said, f"without safetensors, save says: {said}")
    done = subprocess.run([command()], capture_output=True, text=True, timeout=120, check=False)
    check(done.returncode != 0 and "greville[cli]" in done.stderr, f"the command says: {done}")


def command():
    found = sorted(Path(sysconfig.get_path("scripts")).glob("greville*"))
    check(found, "there is no greville command")
    return str(found[0])


def run(*arguments):
    done = subprocess.run(
        [command(), *arguments], capture_output=True, encoding="utf-8", timeout=300, check=False
    )
    check(done.returncode == 0, f"greville {' '.join(arguments)}: {done.stdout}{done.stderr}")
    return done.stdout


def cli(folder):
    """The command: a table is learned and predicted."""
    check(run("--version").split()[-1] == greville.__version__, "greville --version")
    X, y = data()
    names = ["a", "b", "c", "y"]
    for name, rows in (("train.csv", slice(0, 250)), ("test.csv", slice(250, 300))):
        with open(folder / name, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([names, *np.column_stack([X, y])[rows].tolist()])
    model, output = str(folder / "model"), folder / "out.csv"
    run("train", str(folder / "train.csv"), "--target", "y", "--output", model, "--quiet")
    run("predict", model, str(folder / "test.csv"), "--output", str(output), "--quiet")
    with open(output, newline="", encoding="utf-8") as file:
        predicted = [float(row["prediction"]) for row in csv.DictReader(file)]
    check(np.abs(np.array(predicted) - y[250:]).max() < 0.2, "the predictions are far off")
    said = json.loads(run("info", model, "--json"))
    check(said["rows"] == 250, f"greville info: {said}")


if __name__ == "__main__":
    if sys.argv[1:] == ["cli"]:
        with TemporaryDirectory() as folder:
            cli(Path(folder))
    else:
        library()
        refusals()
    print(f"greville {greville.__version__} works on Python {sys.version.split()[0]}")
