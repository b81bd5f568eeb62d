"""
Rows as dictionaries, as in river
=================================

`river <https://riverml.xyz>`_ made a simple idea popular: a row is a dictionary, a model has
``predict_one`` and ``learn_one``, and it is tested on every row before it learns it. The table
models of greville take the same dictionaries, with text, dates and gaps as they are: no encoder,
no scaler. An adapter lets river's own tools use them.

**Data.** ``houses.csv`` and ``more-houses.csv`` lie beside this file: 1,200 generated houses
(``make_data.py`` made them) with gaps, a city, a date and a price with about 6 % noise. The second
part uses real data that come with river: the approval of a president in 1,001 days of polls.
"""

# %%
# A stream of dictionaries
# ------------------------

import csv
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

if not hasattr(csv.DictReader, "__class_getitem__"):  # Python 3.11, where river 0.26 fails without
    csv.DictReader.__class_getitem__ = classmethod(lambda cls, _: cls)

from river import compose, datasets, evaluate, linear_model, metrics, preprocessing

from greville import TableRegressor
from greville.adapters.river import Regressor

folder = Path(__file__).parent if "__file__" in globals() else Path()


def houses():
    """Each house as a dictionary, and its price."""
    for name in ("houses.csv", "more-houses.csv"):
        with (folder / name).open() as file:
            for row in csv.DictReader(file):
                yield row, float(row.pop("price"))


x, y = next(houses())
print(x, "->", y)

# %%
# Predict, then learn
# -------------------
# The values are the text of the file; what the columns are, the model finds out. The baseline is
# the mean price so far. Half-way, a city comes up that was never seen before: nothing has to be
# told, and it is learned like the others.

model = TableRegressor()
ours, simple, mean = [], [], 0.0
for i, (x, y) in enumerate(houses()):
    if i >= 600 and x["city"] == "Kiel":
        x["city"], y = "Hamburg", 1.8 * y  # our own change, to show a late value
    predicted = model.predict_one(x) if i > 0 else 0.0
    ours.append(abs(y - predicted))
    simple.append(abs(y - mean))
    model.learn_one(x, y)
    mean += (y - mean) / (i + 1)
print(f"mean absolute error of the last 300 houses: {np.mean(ours[-300:]):,.0f} euros")
print(f"with the mean price so far:                 {np.mean(simple[-300:]):,.0f} euros")

# %%
# In river's tools
# ----------------
# :class:`greville.adapters.river.Regressor` is a regressor of river. ``progressive_val_score`` and
# ``compose`` take it, and ``solver="dynamic"`` forgets, which suits polls. Next to it is the
# usual pipeline of river: scale, then a linear model. (``pip install 'greville[river]'``)

days = compose.Discard("ordinal_date")
pipelines = {
    "river, linear": days | preprocessing.StandardScaler() | linear_model.LinearRegression(),
    "greville": days | Regressor(solver="dynamic"),
}
error = {}
for name, pipeline in pipelines.items():
    error[name] = evaluate.progressive_val_score(datasets.TrumpApproval(), pipeline, metrics.MAE())
    print(f"{name:14} {error[name]}")

# %%
# The picture
# -----------


def smooth(sizes, k=50):
    """The mean of the last k."""
    sums = np.cumsum(np.r_[0.0, sizes])
    return (sums[k:] - sums[:-k]) / k / 1000


figure, axes = plt.subplots(figsize=(8, 4.3), layout="constrained")
where = np.arange(len(smooth(ours))) + 50
axes.plot(where, smooth(simple), "--", color="0.6", lw=2, label="mean price so far")
axes.plot(where, smooth(ours), color="#0072B2", lw=2.5, label="TableRegressor")
axes.axvline(600, color="#D55E00", lw=1)
axes.text(605, 0.3, "a new city", color="#D55E00")
axes.set(xlabel="houses learned", ylabel="mean error of 50 houses\n(thousand euros)", ylim=(0, None))
figure.legend(loc="outside lower center", ncols=2, frameon=False)
plt.show()
