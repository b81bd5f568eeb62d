"""
Unlearning a customer
=====================

A customer asks that all their data be deleted. Deleting rows from a table is easy, but a model has
learned from them. Training again without them takes as long as training did. Here the rows are
taken out of the model: it is then the model that never saw them, to rounding.

**Data.** Generated: 20,000 orders of 400 customers of a shop, with the hour, the number of
articles, the age of the account, and what was paid. One customer is unusual: a reseller who orders
a lot, at night, at a high discount.
"""

# %%
# The orders
# ----------

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np

from greville import ELMRegressor

rng = np.random.default_rng(3)
n = 20_000
customer = rng.integers(1, 400, n)
hour, articles, years = rng.uniform(6, 24, n), rng.integers(1, 30, n), rng.uniform(0, 10, n)
reseller = np.arange(n) % 25 == 0  # customer 0
customer[reseller] = 0
hour[reseller] = rng.uniform(20, 24, reseller.sum())
articles[reseller] = rng.integers(15, 30, reseller.sum())
paid = 9.0 * articles * (1 + 0.15 * np.sin(hour / 24 * 2 * np.pi)) * (1 - 0.01 * years)
paid[reseller] *= 0.45
paid *= rng.lognormal(0, 0.05, n)
X = np.column_stack([hour, articles, years])
gone = customer == 0
print(f"{n} orders; customer 0 has {gone.sum()} of them")

# %%
# One layer and one set of units for both
# ---------------------------------------
# The hidden layer and the units (means and ranges of the columns) are fixed before the first row
# is learned, and ``unlearn`` does not change them. If nothing of the customer may stay, not even a
# part in a mean, they must not come from the customer's rows. So ``prepare`` gets 500 orders of
# others.

others = np.flatnonzero(~gone)[:500]


def learned(rows):
    """A model that learned these rows, all with the same layer and units."""
    model = ELMRegressor(400, random_state=0).prepare(X[others], paid[others])
    return model.partial_fit(X[rows], paid[rows])


model = learned(np.arange(n))

# %%
# Take the customer out
# ---------------------
# The model after ``unlearn`` is compared with one that never saw the customer.

question = np.column_stack([np.full(100, 22.0), np.linspace(1, 29, 100), np.full(100, 3.0)])
before = model.predict(question)

start = perf_counter()
model.unlearn(X[gone], paid[gone])
unlearn_seconds = perf_counter() - start
after = model.predict(question)

start = perf_counter()
never = learned(np.flatnonzero(~gone))
retrain_seconds = perf_counter() - start
reference = never.predict(question)

print(f"largest effect of the customer on a price: {np.abs(before - reference).max():.2f} euros")
print(f"what is left of it after unlearning:       {np.abs(after - reference).max():.1e} euros")
print(f"unlearning took {unlearn_seconds:.3f} s, training again {retrain_seconds:.3f} s")

# %%
# Rows that were never learned
# ----------------------------
# A model is a sum over rows, and does not know which ones. Rows that it never saw are refused only
# when what is left could not be a sum of squares any more. So keep a list of what was learned.

try:
    model.unlearn(100 * X[gone], paid[gone])
except ValueError as refused:
    print("refused:", refused)

# %%
# The picture
# -----------

figure, (left, right) = plt.subplots(
    1, 2, figsize=(8.5, 4.3), layout="constrained", width_ratios=[1.3, 1]
)
x = question[:, 1]
late = (hour > 21) & (hour < 23)
some = np.flatnonzero(late & ~gone)[:150]
left.plot(articles[some], paid[some], ".", color="0.7", ms=4, label="orders of others")
some = np.flatnonzero(late & gone)[:60]
left.plot(articles[some], paid[some], "x", color="#D55E00", ms=5, label="the customer's orders")
left.plot(x, before, ":", color="#D55E00", lw=2.5, label="model with the customer")
left.plot(x, after, color="#0072B2", lw=4, label="after unlearning")
left.plot(x, reference, "--", color="k", lw=1.5, label="never saw the customer")
left.set(xlabel="articles in an order at 22:00", ylabel="paid (euros)")
right.semilogy(x, np.abs(before - reference), ":", color="#D55E00", lw=2.5)
right.semilogy(x, np.abs(after - reference), color="#0072B2", lw=2)
right.set(
    xlabel="articles in an order at 22:00",
    ylabel="difference from the model that\nnever saw the customer (euros)",
)
figure.legend(loc="outside lower center", ncols=3, frameon=False)
plt.show()
