"""
Handwritten digits with contrast layers
=======================================

A random hidden layer takes pixels as plain numbers: it does not know which pixels are neighbours.
:func:`~greville.image_layer` knows. It has small filters first (``PatchLayer``), then units that
look at the differences between classes in a part of the image (``ContrastLayer``). Only the output
weights are learned, in one pass.

**Data.** The 1,797 digits that come with scikit-learn, 8 × 8 pixels each. The first 1,200 are
learned, the other 597 are the test.
"""

# %%
# Four models
# -----------
# The same number of units in a plain random layer and in an image layer, and two models of
# scikit-learn. Nothing is tuned: the ridge is chosen from the rows.

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from greville import ELMClassifier, image_layer

X, y = load_digits(return_X_y=True)
X_train, y_train, X_test, y_test = X[:1200], y[:1200], X[1200:], y[1200:]

models = {
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "nearest neighbours": KNeighborsClassifier(3),
    "random layer": ELMClassifier(800, random_state=0),
    "image layer": ELMClassifier(image_layer((8, 8), 800), random_state=0),
}
error = {}
for name, model in models.items():
    start = perf_counter()
    model.fit(X_train, y_train)
    seconds = perf_counter() - start
    error[name] = 1 - model.score(X_test, y_test)
    print(f"{name:20} {100 * error[name]:5.2f} % wrong, learned in {seconds:.2f} s")

# %%
# How sure is it?
# ---------------
# ``predict_proba`` is calibrated on rows before they are learned. If you may hand the digits that
# it is least sure of to a person, how many must that be until the rest is right? The model sorts
# them; the labels only count.

model = models["image layer"]
probability = model.predict_proba(X_test)
sure = probability.max(axis=1)
predicted = model.classes_[probability.argmax(axis=1)]
wrong = predicted != y_test
order = np.argsort(sure)
for share in (0.0, 0.02, 0.05, 0.1):
    rest = order[round(share * len(order)) :]
    errors = 100 * wrong[rest].mean()
    print(f"{100 * share:3.0f} % to a person: {errors:.2f} % of the rest are wrong")

# %%
# More digits later
# -----------------
# The layer is set by the rows of ``fit`` and then stays. The output weights go on learning: the
# first half of the test digits is learned too, and the second half is predicted.

late = slice(300, None)
before = 1 - model.score(X_test[late], y_test[late])
model.partial_fit(X_test[:300], y_test[:300])
after = 1 - model.score(X_test[late], y_test[late])
print(f"the last {len(y_test[late])} digits: {100 * before:.2f} % wrong, then {100 * after:.2f} %")

# %%
# The picture
# -----------
# Left, the errors of the four models. Right, the eight digits that the image layer was least sure
# of, before it learned any of the test.

figure = plt.figure(figsize=(8.5, 4), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=[1, 1.15])
axes = left.subplots()
colours = ["0.7", "0.7", "#E69F00", "#0072B2"]
bars = axes.barh(list(error), [100 * e for e in error.values()], color=colours)
axes.bar_label(bars, fmt="%.1f %%", padding=3)
axes.set(xlabel="wrong test digits (%)", xlim=(0, 115 * max(error.values())))
axes.spines[["top", "right"]].set_visible(False)
for cell, i in zip(right.subplots(2, 4).flat, order[:8], strict=True):
    cell.imshow(X_test[i].reshape(8, 8), cmap="gray_r")
    mark = "wrong" if wrong[i] else "right"
    cell.set_title(f"{predicted[i]}: {100 * sure[i]:.0f} %\n{mark}, is {y_test[i]}", fontsize=9)
    cell.set(xticks=[], yticks=[])
right.suptitle("least sure")
plt.show()
