"""
Forecasting electricity load, with intervals
============================================

A supplier of electricity buys today what its customers use tomorrow. It needs the load 24 hours
ahead, and how sure that is. The model below learns every sample as it comes. It predicts from the
past of the load, from the calendar and from the weather forecast, and says in which interval the
load will lie nine times out of ten.

**Data.** The series is generated, since measured loads do not ship with the library: twelve weeks
in megawatts, a sample every two hours. The load has a daily rhythm, is higher in working hours
and on cold days, and has noise that lasts for some hours. One working day is a holiday.
"""

# %%
# Generate twelve weeks
# ---------------------

import matplotlib.pyplot as plt
import numpy as np

from greville.forecasting import Forecaster

rng = np.random.default_rng(7)
a_day, a_week = 12, 84  # samples
n = 12 * a_week
ahead = a_day  # how far ahead to predict: 24 hours


def lasting(n, keep, size):
    """Noise of which a part is kept from one sample to the next."""
    noise = np.zeros(n)
    for i in range(1, n):
        noise[i] = keep * noise[i - 1] + size * rng.normal()
    return noise


when = np.arange(n + ahead)
hour, day = 2 * when % 24, when // a_day
works = (day % 7 < 5) & (day != 60)  # day 60 is a holiday
temperature = 12 + 5 * np.sin(2 * np.pi * (hour - 9) / 24) + lasting(n + ahead, 0.96, 0.85)

load = 40 + 9 * np.sin(2 * np.pi * (hour - 8) / 24) + 3 * np.sin(4 * np.pi * (hour - 7) / 24)
load += np.where(works & (hour >= 6) & (hour < 19), 12, 0)
load += 0.6 * np.maximum(18 - temperature, 0) + lasting(n + ahead, 0.64, 0.85)

# %%
# What is known a day before
# --------------------------
# At the time of a prediction these are known for the target, 24 hours later: whether it is a
# working day, and the weather forecast, which is off by one degree (standard deviation). They are
# the other inputs. No row holds anything that is not known at its time.

weather_forecast = temperature + rng.normal(size=n + ahead)
known = np.column_stack([works, weather_forecast])[ahead:]
load = load[:n]

# %%
# Learn sample by sample
# ----------------------
# ``update`` takes the next samples and returns what had been predicted for them 24 hours before.
# Here it gets the whole series; piece by piece gives the same. The model finds the season itself.

model = Forecaster(horizon=ahead, interval=0.9)
found = model.update(load, inputs=known)
print("season found:", model.season_, "samples, which is", model.season_ / a_day, "days")

# %%
# Compare with what needs no model
# --------------------------------
# The load of the day before at the same time, and that of the week before. All count from the
# fifth week on.

counts = found.index >= 4 * a_week
at, target = found.index[counts], found.target[counts]
predicted = {
    "greville": found.prediction[counts],
    "a day ago": load[at - a_day],
    "a week ago": load[at - a_week],
}
errors = {name: np.abs(target - values) for name, values in predicted.items()}
for name, error in errors.items():
    print(f"{name:10} mean absolute error {error.mean():.2f} MW")

holiday = at // a_day == 60
print("on the holiday:", ", ".join(f"{k} {v[holiday].mean():.1f} MW" for k, v in errors.items()))

lower, upper = found.lower[counts], found.upper[counts]
inside = np.mean((lower <= target) & (target <= upper))
width = np.mean(upper - lower)
print(f"in the 90 % interval: {100 * inside:.1f} %; its mean width: {width:.1f} MW")

# %%
# In euros
# --------
# What was not bought the day before must be balanced at short notice. At 30 euros for a megawatt
# hour (our assumption; put in your price), these eight weeks cost:

cost = {name: 30 * 2 * error.sum() for name, error in errors.items()}  # a sample is two hours
for name, euros in cost.items():
    print(f"{name:10} {euros:8,.0f} euros")
print(f"saved: {min(cost['a day ago'], cost['a week ago']) - cost['greville']:,.0f} euros")

# %%
# The coming day
# --------------
# ``future`` predicts 1, 2, ... 12 samples after the last one. The picture has the last days as
# they were predicted a day before, the coming day, and the errors of each week.

coming = model.future()
blue, orange = "#0072B2", "#D55E00"
figure, (top, bottom) = plt.subplots(
    2, 1, figsize=(8, 6), layout="constrained", height_ratios=[1.6, 1]
)
last = found[-6 * a_day :]
x = last.index / a_day
top.fill_between(x, last.lower, last.upper, color=blue, alpha=0.2, lw=0, label="90 % interval")
top.plot(x, last.target, color="0.3", lw=2.5, label="load")
top.plot(x, last.prediction, color=blue, lw=1.8, label="predicted a day before")
x = coming.index / a_day
top.fill_between(x, coming.lower, coming.upper, color=orange, alpha=0.25, lw=0)
top.plot(x, coming.prediction, color=orange, lw=2.5, ls="--", label="coming day")
top.set(xlabel="day", ylabel="load (MW)", xlim=(n / a_day - 6, n / a_day + 1))
top.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=4, frameon=False)

week = at // a_week
styles = {"greville": (blue, "-"), "a day ago": ("#E69F00", "--"), "a week ago": ("0.55", ":")}
for name, (colour, style) in styles.items():
    weekly = [errors[name][week == i].mean() for i in range(4, 12)]
    bottom.plot(range(5, 13), weekly, style, color=colour, lw=2.5, marker="o", label=name)
bottom.set(xlabel="week", ylabel="mean error (MW)", ylim=(0, None))
bottom.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3, frameon=False)
plt.show()
