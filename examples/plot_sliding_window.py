"""
A sliding window, next to growing and forgetting
================================================

Sometimes old rows should not count less: they should not count at all. A price list of last month,
a contract that says "the last 300 rides", a machine before its repair. A
:class:`~greville.SlidingOpium` has the exact solution of the last rows alone. It adds the new row
and takes the oldest one out, and never trains again.

**Data.** Generated: 3,000 rides of a taxi company, with distance, minutes and hour. The tariff
changes at ride 1,000 and again at ride 2,000; fares have noise of 0.50 euros.
"""

# %%
# The rides
# ---------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge

from greville import DynamicOpium, ELMRegressor, Opium, RandomLayer, SlidingOpium

rng = np.random.default_rng(5)
n, changes = 3000, (1000, 2000)
km, hour = rng.uniform(1, 15, n), rng.uniform(0, 24, n)
minutes = km * rng.uniform(1.5, 4.0, n)
night = (hour < 6) | (hour > 22)
tariff = np.searchsorted(changes, np.arange(n), side="right")  # 0, 1, 2
a_km = np.array([2.0, 1.4, 2.6])[tariff]
a_minute = np.array([0.3, 0.8, 0.4])[tariff]
at_night = np.array([3.0, 3.0, 6.0])[tariff]
fare = 4 + a_km * km + a_minute * minutes + at_night * night + rng.normal(0, 0.5, n)
X = np.column_stack([km, minutes, hour])

# %%
# Three memories
# --------------
# All see the same rides in the same order, and predict each fare before they learn it. The hidden
# layer is the same; only the solver differs. The window has 300 rides. Forgetting has a memory as
# long: a ride that is k rides old counts (2 - alpha) to the power of k, in all as much as 300.

window = 300
solvers = {
    "all rides so far": Opium("auto", intercept=True),
    "forgetting, 300 rides": DynamicOpium(1 + 1 / window, epsilon="auto", intercept=True),
    "window of 300 rides": SlidingOpium(window, epsilon=0.03),
}
error = {
    name: np.abs(fare - ELMRegressor(100, solver, random_state=0).prequential(X, fare))
    for name, solver in solvers.items()
}

# %%
# The mean absolute error in euros, over both changes together. The window is not faster in the
# first rides after a change. But 300 rides later it holds none of the old tariff, while what fades
# is still there.

since = np.arange(n) - np.array([0, *changes])[tariff]  # rides since the last change
changed = tariff > 0
spans = {
    "0-99": changed & (since < 100),
    "100-299": changed & (since >= 100) & (since < 300),
    "300-499": changed & (since >= 300) & (since < 500),
    "500-999": changed & (since >= 500),
}
print(f"{'rides after a change:':24}" + "".join(f"{name:>10}" for name in spans))
for name, sizes in error.items():
    values = [sizes[rides].mean() for rides in spans.values()]
    print(f"{name:24}" + "".join(f"{value:10.2f}" for value in values))

# %%
# Exactly the last rows
# ---------------------
# The solver alone is a ridge regression on the last 300 rows, here on the activations H of a hidden
# layer: the same as scikit-learn's ``Ridge``, trained on these rows from nothing.

H = RandomLayer(100, random_state=0).fit(X / X.std(axis=0)).transform(X / X.std(axis=0))
solver = SlidingOpium(window, epsilon=0.1)
for start in range(0, n, 100):
    solver.partial_fit(H[start : start + 100], fare[start : start + 100])
ridge = Ridge(alpha=0.1**2, fit_intercept=False, solver="cholesky").fit(H[-window:], fare[-window:])
difference = np.abs(solver.predict(H) - ridge.predict(H)).max()
print(f"largest difference from Ridge on the last {window} rows: {difference:.1e} euros")

# %%
# The picture
# -----------


def smooth(sizes, k=60):
    """The mean of the last k."""
    sums = np.cumsum(np.r_[0.0, sizes])
    return (sums[k:] - sums[:-k]) / k


figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
styles = {
    "all rides so far": {"color": "#E69F00", "ls": "--"},
    "forgetting, 300 rides": {"color": "#D55E00", "ls": ":"},
    "window of 300 rides": {"color": "#0072B2"},
}
for name, style in styles.items():
    curve = smooth(error[name])
    axes.plot(np.arange(len(curve)) + 60, curve, lw=2.5, label=name, **style)
for change in changes:
    axes.axvline(change, color="0.4", lw=1)
    axes.text(change - 20, 7.6, "new tariff", ha="right", va="center")
    axes.axvspan(change, change + window, color="0.93", zorder=0)
    axes.text(change + window / 2, 7.6, "300 rides", ha="center", va="center", color="0.35")
axes.set(xlabel="ride", ylabel="mean error of 60 rides (euros)", ylim=(0, 8), xlim=(60, n))
figure.legend(loc="outside lower center", ncols=3, frameon=False)
plt.show()
