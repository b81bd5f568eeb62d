"""
Rows as dictionaries, as in river
=================================

`river <https://riverml.xyz>`_ made a simple idea popular: a row is a dictionary, a model has
``predict_one`` and ``learn_one``, and it is tested on every row before it learns it. The table
models of greville take the same dictionaries, with text, dates and gaps as they are. They need no
encoder and no scaler. An adapter lets river's own tools use them.

**Data.** ``houses.csv`` lies beside this file: 800 generated houses (``make_data.py`` made them)
with gaps, a city, a date, and a price with about 6 % noise. The second part uses real data that
come with river: 1,250 web pages, of which some try to steal passwords.
"""

# %%
# A stream of dictionaries
# ------------------------
# Half-way we rename a city and make it dearer, so that a value comes up that was never seen before.

import csv
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

if not hasattr(csv.DictReader, "__class_getitem__"):  # Python 3.11, where river 0.26 fails without
    csv.DictReader.__class_getitem__ = classmethod(lambda cls, _: cls)

from river import datasets, evaluate, forest, linear_model, metrics, preprocessing

from greville import TableRegressor
from greville.adapters.river import Classifier

folder = Path(__file__).parent if "__file__" in globals() else Path()


def houses():
    """Each house as a dictionary, and its price."""
    with (folder / "houses.csv").open() as file:
        for i, row in enumerate(csv.DictReader(file)):
            price = float(row.pop("price"))
            if i >= 400 and row["city"] == "Kiel":
                row["city"], price = "Hamburg", 1.8 * price
            yield row, price


x, y = next(houses())
print(x, "->", y)

# %%
# Predict, then learn
# -------------------
# The values are the text of the file; what the columns are, the model finds out. The baseline is
# the mean price so far. Nobody tells the model about the new city. It is learned like the others.

model = TableRegressor()
ours, simple, mean = [], [], 0.0
for i, (x, y) in enumerate(houses()):
    predicted = model.predict_one(x) if i > 0 else 0.0
    ours.append(abs(y - predicted))
    simple.append(abs(y - mean))
    model.learn_one(x, y)
    mean += (y - mean) / (i + 1)
print(f"mean absolute error of the last 200 houses: {np.mean(ours[-200:]):,.0f} euros")
print(f"with the mean price so far:                 {np.mean(simple[-200:]):,.0f} euros")
for city in ("Bonn", "Hamburg"):
    price = model.predict_one({"area": 80, "rooms": 3, "city": city, "built": "1990-05-01"})
    print(f"80 square metres in {city}: {price:,.0f} euros")

# %%
# In river's tools
# ----------------
# :class:`greville.adapters.river.Classifier` and ``Regressor`` are models of river
# (in a clone, ``pip install '.[river]'``). ``progressive_val_score`` takes them, and so do
# pipelines.
# Next to it are river's pipeline of a scaler and a logistic regression, and its adaptive forest.

pages = {
    "logistic regression": preprocessing.StandardScaler() | linear_model.LogisticRegression(),
    "adaptive forest": forest.ARFClassifier(seed=0),
    "greville": Classifier(),
}
accuracy = {}
for name, pipeline in pages.items():
    found = evaluate.progressive_val_score(datasets.Phishing(), pipeline, metrics.Accuracy())
    accuracy[name] = 100 * found.get()
    print(f"{name:20} {accuracy[name]:.1f} % right")

# %%
# The picture
# -----------


def smooth(sizes, k=50):
    """The mean of the last k, in thousands."""
    sums = np.cumsum(np.r_[0.0, sizes])
    return (sums[k:] - sums[:-k]) / k / 1000


figure, (left, right) = plt.subplots(
    1, 2, figsize=(9, 4), layout="constrained", width_ratios=[1.5, 1]
)
where = np.arange(len(smooth(ours))) + 50
left.plot(where, smooth(simple), "--", color="0.6", lw=2, label="mean price so far")
left.plot(where, smooth(ours), color="#0072B2", lw=2.5, label="TableRegressor")
left.axvline(400, color="#D55E00", lw=1)
left.text(390, 4, "a new city", color="#D55E00", ha="right")
left.set(xlabel="house", ylabel="mean error of 50 houses\n(thousand euros)")
left.set_ylim(bottom=0)
left.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2, frameon=False)

wrong = [100 - value for value in accuracy.values()]
bars = right.bar(list(accuracy), wrong, color=["0.7", "0.7", "#0072B2"])
right.bar_label(bars, fmt="%.1f %%", padding=3)
right.set(ylabel="wrong pages (%)", title="river's progressive validation")
right.set_xticks(range(3), ["logistic\nregression", "adaptive\nforest", "greville"])
right.set_ylim(top=1.12 * max(wrong))
right.spines[["top", "right"]].set_visible(False)
plt.show()
