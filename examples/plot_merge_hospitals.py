"""
Merging hospitals' models without moving rows
=============================================

Six hospitals want one model of how diabetes proceeds. The rows of their patients may not leave the
house. Each hospital trains a model of its own, and only models travel. A model is a sum over its
rows, so that models can be added up, and the sum is the model of all rows. It is no average of
models and no approximation.

**Data.** The diabetes data that come with scikit-learn: 442 patients, ten measurements, and a
measure of the disease one year later, from 25 to 346 points. We split them ourselves: 122 patients
are the test, and the others go to six hospitals by their age, so that the hospitals see different
patients. Since so few patients make results depend on luck, everything is done for eight
random splits, and the errors are means over these.
"""

# %%
# Patients of six hospitals
# -------------------------

from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

import greville
from greville import ELMRegressor, Opium

X, y = load_diabetes(return_X_y=True, scaled=False)


def split(seed):
    """The test patients, and those of each hospital: sorted by age, with some noise."""
    rng = np.random.default_rng(seed)
    shuffled = rng.permutation(len(y))
    test, train = shuffled[:122], shuffled[122:]
    blurred_age = X[train, 0] + rng.normal(0, 8, len(train))
    return test, np.array_split(train[np.argsort(blurred_age)], 6)


test, hospitals = split(0)
for i, rows in enumerate(hospitals, 1):
    print(f"hospital {i}: {len(rows)} patients, mean age {X[rows, 0].mean():.0f}")

# %%
# What must be shared first
# -------------------------
# Models can be added only if they have the same hidden layer and the same units. So one hospital
# makes these and sends them to all. ``prepare`` takes units from rows, and learns none of them.
# What leaves the house is the mean and the range of each column, and random numbers. Where not
# even these may leave, agree on ranges from a textbook, divide by them, and pass
# ``standardize=False`` and a number of units; then nothing has to be sent.


def prepared(rows, solver="opium"):
    """A model that has units and a hidden layer, and has learned nothing."""
    return ELMRegressor(200, solver, random_state=0).prepare(X[rows], y[rows])


# %%
# Each hospital learns, and sends a file
# --------------------------------------
# A model file holds a triangular matrix of 200 × 200 numbers and what goes with it, whatever the
# number of patients. It has no rows and no code.

with TemporaryDirectory() as folder:
    blank = Path(folder) / "blank.greville"
    greville.save(prepared(hospitals[3]), blank)  # hospital 4 sends this to all
    files = [Path(folder) / f"hospital-{i}.greville" for i in range(1, 7)]
    for rows, file in zip(hospitals, files, strict=True):
        greville.save(greville.load(blank).partial_fit(X[rows], y[rows]), file)
    print(f"a file has {files[0].stat().st_size / 1000:.0f} kB")
    received = [greville.load(file) for file in files]

# %%
# Add them up
# -----------
# ``+`` makes a new model; ``merge`` adds others to one. For the comparison only, a model learns all
# rows in one place.

merged = deepcopy(received[0]).merge(*received[1:])
print("patients in the merged model:", merged.n_samples_seen_)

names = [f"hospital {i} alone" for i in range(1, 7)]
names += ["mean of the six answers", "merged", "all rows in one place"]
errors = []
for seed in range(8):
    test, hospitals = split(seed)
    start = prepared(hospitals[3])
    alone = [deepcopy(start).partial_fit(X[rows], y[rows]) for rows in hospitals]
    merged = deepcopy(alone[0]).merge(*alone[1:])
    everyone = np.concatenate(hospitals)
    central = deepcopy(start).partial_fit(X[everyone], y[everyone])
    answers = [model.predict(X[test]) for model in alone]
    answers += [np.mean(answers, axis=0), merged.predict(X[test]), central.predict(X[test])]
    errors.append([np.abs(y[test] - answer).mean() for answer in answers])
error = dict(zip(names, np.mean(errors, axis=0), strict=True))
for name, points in error.items():
    print(f"{name:24} mean absolute error {points:.1f} points")

# %%
# The same to rounding
# --------------------
# Above, every model chooses its ridge, epsilon, from its own rows, and the merged one at another
# moment than the one in one place. With the same epsilon they are equal to rounding:

fixed = prepared(hospitals[3], Opium(10.0, intercept=True))
parts = [deepcopy(fixed).partial_fit(X[rows], y[rows]) for rows in hospitals]
together = deepcopy(fixed).partial_fit(X[everyone], y[everyone])
difference = parts[0].merge(*parts[1:]).predict(X[test]) - together.predict(X[test])
print(f"largest difference of a prediction: {np.abs(difference).max():.1e} points")

# %%
# The picture
# -----------
# Left, the ages in the last of the splits. Right, the errors.

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
parts = left.violinplot([X[rows, 0] for rows in hospitals])
for body in parts["bodies"]:
    body.set(facecolor="#E69F00", alpha=0.6)
for line in ("cbars", "cmins", "cmaxes"):
    parts[line].set_color("#B87A00")
left.set(xlabel="hospital", ylabel="age of the patients", xticks=range(1, 7))

colours = ["#E69F00"] * 6 + ["0.6", "#0072B2", "#009E73"]
bars = right.barh(names, list(error.values()), color=colours)
right.bar_label(bars, fmt="%.1f", padding=3)
right.set(xlabel="mean absolute error (points)", xlim=(0, 1.15 * max(error.values())))
right.invert_yaxis()
right.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# A sum over rows is no row, but it is no secret either: a model of very few patients may tell
# something about them. Where that matters, let small hospitals add their models up before anybody
# else sees one.
