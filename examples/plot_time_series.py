"""
Kinds of time series, and a kind that comes later
=================================================

Thousands of simple features of a series, and a ridge on them, tell kinds of series apart as well as
anything, in seconds. Mostly that ridge is fitted once, to all series in memory. Here it learns
batch after batch and keeps no series; a machine fault of a kind that was never seen before is
learned from the day on which it first comes up.

**Data.** The vibrations are generated: a machine that runs well, one with a worn bearing, one that
is out of balance, and later one with a loose foot. In two channels, with noise.
"""

# %%
# Vibrations
# ----------

import matplotlib.pyplot as plt
import numpy as np

from greville import MiniRocketLayer, TimeSeriesClassifier

rng = np.random.default_rng(0)
KINDS = ("good", "bearing", "balance", "loose foot")


def vibrations(kinds, n, length=150):
    """Series of shape (n, 2, length), and what they are."""
    y, t = rng.choice(kinds, n), np.arange(length)
    phase = rng.uniform(0, 2 * np.pi, size=(n, 2, 1))
    X = np.sin(t / 4 + phase) + 0.6 * rng.normal(size=(n, 2, length))
    knocks = (t + rng.integers(25, size=(n, 1, 1))) % 25 < 2
    X += (y == "bearing")[:, None, None] * knocks * rng.normal(0, 2.5, size=X.shape)
    X[:, 0] *= np.where(y == "balance", 1.8, 1)[:, None]
    X += (y == "loose foot")[:, None, None] * 0.9 * np.sin(t / 2 + 2 * phase)
    return X, y


# %%
# A year, week by week
# --------------------
# In week 20 a foot comes loose for the first time. The model was not told that this could happen.

model = TimeSeriesClassifier(MiniRocketLayer(2016), random_state=0)
weeks, accuracies = range(1, 41), []
for week in weeks:
    kinds = KINDS if week >= 20 else KINDS[:3]
    X, y = vibrations(kinds, 40)
    if week > 1:
        accuracies.append(100 * model.score(X, y))  # before it learns this week
    model.partial_fit(X, y)

X, y = vibrations(KINDS, 500)
first, last = np.mean(accuracies[1:18]), 100 * model.score(X, y)
print(f"weeks 3 to 19   {first:.1f} % right")
print(f"week 20         {accuracies[18]:.1f} % right")
print(f"after week 40   {last:.1f} % right, {len(model.classes_)} kinds")

# %%
# How sure it is
# --------------

probabilities = model.predict_proba(X)
sure = probabilities.max(axis=1) > 0.9
print(f"where it is sure of nine in ten: {100 * np.mean(model.predict(X)[sure] == y[sure]):.1f} %")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
for offset, kind in enumerate(KINDS):
    left.plot(X[y == kind][0, 0] + 8 * offset, label=kind)
left.set(title="one series of each kind, first channel", yticks=[])
left.legend(loc="upper right")
right.plot(weeks[1:], accuracies)
right.axvline(20, color="gray", linestyle=":")
right.set(title="right before learning, %", xlabel="week")
plt.show()
