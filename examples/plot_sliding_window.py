"""
A sliding window, next to growing and forgetting
================================================

Sometimes old rows should not count less, they should not count at all: a price list from last
month, a contract that says "the last 30 days", a machine before its repair. A
:class:`~greville.SlidingOpium` holds the exact solution of the last rows alone. It adds the new row
and takes the oldest one out, and never trains again.

**Data.** Generated: 3,000 rides of a taxi company, with distance, minutes and hour. The tariff
changes after ride 1,000 and again after ride 2,000.
"""

# %%
# The rides
# ---------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import Ridge

from greville import DynamicOpium, ELMRegressor, Opium, SlidingOpium

rng = np.random.default_rng(5)
n, changes = 3000, (1000, 2000)
km, hour = rng.gamma(2.0, 3.0, n), rng.uniform(0, 24, n)
minutes = km * rng.uniform(1.5, 4.0, n)
night = (hour < 6) | (hour > 22)
tariff = np.searchsorted(changes, np.arange(n), side="right")  # 0, 1, 2
a_km, a_minute, at_night = (np.array(price)[tariff] for price in ([2, 1.4, 2.6], [0.3, 0.8, 0.4], [3, 3, 8]))
fare = 4 + a_km * km + a_minute * minutes + at_night * night + rng.normal(0, 0.5, n)
X = np.column_stack([km, minutes, hour])

# %%
# Three memories
# --------------
# All see the same rides in the same order, and predict each fare before they learn it. The hidden
# layer is the same; only the solver differs. The window has 300 rides. The forgetting factor is
# chosen so that the memory is as long: a ride that is k rides old counts (2 - alpha) to the k.

window = 300
solvers = {
    "all rides": Opium("auto", intercept=True),
    "forgets": DynamicOpium(1 + 1 / window, epsilon="auto", intercept=True),
    "window of 300": SlidingOpium(window, epsilon=0.1),
}
error = {}
for name, solver in solvers.items():
    model = ELMRegressor(60, solver, random_state=0)
    error[name] = np.abs(fare - model.prequential(X, fare))

spans = {"ride 500 to 999": (500, 1000), "just after a change": (1000, 1300), "300 rides later": (1300, 2000)}
