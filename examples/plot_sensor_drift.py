"""
Drift in a sensor stream
========================

A flow sensor can be predicted from three other sensors of the same plant. One day somebody changes
a valve, and from then on the same readings mean another flow. A model that was trained once
goes wrong and stays wrong. This example compares it with models that learn on, and with one that
also forgets.

**Data.** ``sensor.jsonl`` lies beside this file: 2,500 generated lines (``make_data.py`` made
them). After line 1,500 the flow depends on the other sensors in another way.
"""

# %%
# Read the stream
# ---------------
# A line is a JSON object. Each has three inputs and the flow, with noise of standard deviation
# 0.05, which no model can predict.

import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from greville import DynamicOpium, ELMRegressor
from greville.monitor import DriftMonitor

folder = Path(__file__).parent if "__file__" in globals() else Path()
lines = (folder / "sensor.jsonl").read_text().splitlines()
rows = [json.loads(line) for line in lines]
X = np.array([[row["inlet"], row["outlet"], row["level"]] for row in rows])
flow = np.array([row["flow"] for row in rows])
change = 1500  # known to us, not to the models

# %%
# Predict every row before it is learned
# --------------------------------------
# ``prequential`` predicts a row, then learns it, and goes on to the next. So every error is one
# that you would have seen live. Three models see the same stream:
#
# * one that learned the first 1,000 lines and never learns again,
# * one that counts all lines so far alike, which is the default,
# * one that forgets: with ``alpha=1.01`` it remembers about the last 100 lines. (``alpha="auto"``
#   chooses between all lines and the last 330 or so, and follows a sudden change more slowly.)

fixed = ELMRegressor(100, random_state=0).fit(X[:1000], flow[:1000])
growing = ELMRegressor(100, random_state=0)
forgetting = ELMRegressor(
    100, DynamicOpium(alpha=1.01, epsilon="auto", intercept=True), random_state=0
)
predicted = {
    "trained once": fixed.predict(X),
    "learns, keeps all": growing.prequential(X, flow),
    "learns, forgets": forgetting.prequential(X, flow),
    "last value": np.r_[0.0, flow[:-1]],
}

# %%
# An alarm, and a fresh start
# ---------------------------
# A :class:`~greville.monitor.DriftMonitor` watches the errors of the model that was trained once,
# from line 1,000 on. It has no threshold to tune: you choose how many false alarms you accept,
# here one in 10,000 lines. After a sudden change the old lines are worth nothing, so a fourth model
# starts from nothing at the alarm.

errors = {name: flow - values for name, values in predicted.items()}
alarms = 1000 + DriftMonitor(rate=1e-4).update_many(errors["trained once"][1000:])
first = alarms[0]
print(f"first alarm at line {first}, {first - change} lines after the change")

after = ELMRegressor(100, random_state=0).prequential(X[first:], flow[first:])
errors["new at the alarm"] = flow - np.r_[predicted["learns, keeps all"][:first], after]

# %%
# What the change costs
# ---------------------
# The root mean square error just before the change, on the 100 lines after it, and on the last
# 500. The last value is the baseline that needs no model.

spans = {
    "before": slice(1000, change),
    "100 lines after": slice(change, change + 100),
    "last 500": slice(2000, None),
}
print(f"{'':20}" + "".join(f"{name:>17}" for name in spans))
for name, error in errors.items():
    sizes = [np.sqrt(np.mean(error[span] ** 2)) for span in spans.values()]
    print(f"{name:20}" + "".join(f"{size:17.3f}" for size in sizes))

# %%
# The picture
# -----------


def rolling(error, n=50):
    """The root mean square of the last n errors."""
    sums = np.cumsum(np.r_[0.0, error**2])
    return np.sqrt((sums[n:] - sums[:-n]) / n)


figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
styles = {
    "last value": {"color": "0.65", "lw": 1},
    "trained once": {"color": "#D55E00", "lw": 2, "ls": ":"},
    "learns, keeps all": {"color": "#E69F00", "lw": 2, "ls": "--"},
    "learns, forgets": {"color": "#56B4E9", "lw": 2},
    "new at the alarm": {"color": "#0072B2", "lw": 2.5},
}
for name, style in styles.items():
    start = 1000 if name == "trained once" else 0  # what it has learned is no test
    curve = rolling(errors[name][start:])
    axes.plot(np.arange(len(curve)) + start + 50, curve, label=name, **style)
axes.axvline(first, color="k", lw=1)
axes.text(first - 15, 0.036, "change and alarm", ha="right", va="center")
axes.axhline(0.05, color="0.4", lw=1, ls="-.")
axes.text(60, 0.042, "noise of the sensor", va="center", color="0.3")
axes.set(
    yscale="log",
    yticks=[0.05, 0.1, 0.2, 0.5, 1],
    yticklabels=["0.05", "0.1", "0.2", "0.5", "1"],
    ylim=(0.03, 2),
    xlim=(50, 2500),
    xlabel="line of the stream",
    ylabel="error (RMS of 50 lines)",
)
axes.minorticks_off()
figure.suptitle("The plant changes at line 1,500")
figure.legend(loc="outside lower center", ncols=3, frameon=False)
plt.show()

# %%
# The model that keeps all lines ends as a compromise between two plants. The one that forgets
# needs nobody to notice anything, and recovers within some hundred lines; its short memory costs
# accuracy in the end. Where a change is sudden and an alarm can be trusted, a new model is best:
# it is soon where the old one was before the change.
