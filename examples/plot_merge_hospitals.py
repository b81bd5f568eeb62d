"""
Merging hospitals' models without moving rows
=============================================

Four hospitals want one model that tells malignant from benign tumours. The rows of their patients
may not leave the house. Each hospital trains a model of its own, and only models travel. A model
is a sum over its rows, so the models can be added up, and the sum is the model of all rows: not an
average, not an approximation.

**Data.** The breast cancer data that come with scikit-learn: 569 patients, 30 measurements each. We
split them: 149 patients are the test, the others go to four hospitals. To make it harder, and as
in life, the hospitals see different patients: they are sorted by the size of the tumour, with some
noise, so that one hospital has nearly only small ones.
"""

# %%
# Four hospitals
# --------------

from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score

import greville
from greville import ELMClassifier

rng = np.random.default_rng(0)
data = load_breast_cancer()
X, y = data.data, data.target_names[data.target]
shuffled = rng.permutation(len(y))
test, train = shuffled[:149], shuffled[149:]
size = X[train, 0] + rng.normal(0, 1.5, len(train))  # the mean radius, blurred
hospitals = np.array_split(train[np.argsort(size)], [150, 250, 340])
for i, rows in enumerate(hospitals, 1):
    share = np.mean(y[rows] == "malignant")
    print(f"hospital {i}: {len(rows)} patients, {100 * share:.0f} % malignant")

# %%
# What must be shared first
# -------------------------
# Models can be added only if they have the same hidden layer and the same units. One side makes
# them and sends them to all. ``prepare`` takes them from rows and learns none of these. Here
# hospital 3 does that. What leaves it is the mean and the range of each column, the names of the
# classes and random numbers. Where not even these may leave, agree on ranges from a
# textbook, divide by them, and pass ``standardize=False`` and a number of units.

blank = ELMClassifier(200, random_state=0)
blank.prepare(X[hospitals[2]], y[hospitals[2]])

# %%
# Each hospital learns, and sends its model
# -----------------------------------------
# A model file holds a 200 × 200 triangular matrix and 200 × 2 sums, whatever the number of
# patients. It has no rows and no code.

with TemporaryDirectory() as folder:
    files = [Path(folder) / f"hospital-{i}.greville" for i in range(1, 5)]
    for rows, file in zip(hospitals, files, strict=True):
        model = deepcopy(blank).partial_fit(X[rows], y[rows])
        greville.save(model, file)
    kilobytes = files[0].stat().st_size / 1000
    alone = [greville.load(file) for file in files]
print(f"a file has {kilobytes:.0f} kB")

# %%
# Add them up
# -----------
# ``+`` makes a new model, ``merge`` adds to one. The order does not matter. For the comparison only,
# a model also learns all rows in one place.

merged = alone[0] + alone[1] + alone[2] + alone[3]
central = deepcopy(blank).partial_fit(X[train], y[train])


def tested(model):
    """The errors on the test patients, and the area under the ROC curve."""
    wrong = np.mean(model.predict(X[test]) != y[test])
    scores = model.decision_function(X[test])
    return 100 * wrong, roc_auc_score(y[test] == model.classes_[1], scores)


results = {f"hospital {i} alone": tested(model) for i, model in enumerate(alone, 1)}
results |= {"merged": tested(merged), "all rows in one place": tested(central)}
for name, (wrong, auc) in results.items():
    print(f"{name:22} {wrong:5.1f} % wrong, AUC {auc:.4f}")

difference = np.abs(merged.decision_function(X[test]) - central.decision_function(X[test])).max()
print(f"largest difference of a score, merged and in one place: {difference:.1e}")
print(f"epsilon: {merged.epsilon_:.4g} merged, {central.epsilon_:.4g} in one place")

# %%
# The picture
# -----------

figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
colours = ["#009E73", "#E69F00", "#CC79A7", "#D55E00"]
for i, (rows, colour) in enumerate(zip(hospitals, colours, strict=True), 1):
    left.hist(X[rows, 0], bins=np.arange(6, 30), histtype="step", lw=2, color=colour, label=i)
left.set(xlabel="mean radius of the tumour", ylabel="patients")
left.set_title("Whom each hospital sees")
left.legend(title="hospital", frameon=False)

names = list(results)[::-1]
values = [results[name][0] for name in names]
bars = right.barh(names, values, color=["0.5", "#0072B2", *colours[::-1]])
right.bar_label(bars, fmt="%.1f %%", padding=3)
right.set(xlabel="wrong test patients (%)", xlim=(0, 1.2 * max(values)))
right.set_title("How well each model does")
right.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# A sum over rows is no row, but it is not a secret either: a model of very few patients may tell
# something about them. Where that matters, let hospitals with few patients add theirs to another's
# before anybody sees it.
