"""
A live stream with alarms
=========================

A pump reports every minute. A model predicts the power that it should take from what it does, and
a monitor watches the errors. When they become larger than they were, it raises an alarm: a leak, a
worn bearing, a sensor that hangs. The loop below is the loop that would run beside a real pump. It
reads a row, predicts, compares, and learns.

**Data.** Generated, minute by minute, by the class ``Pump``: ten days with a daily rhythm of flow
and pressure. On day 5 a leak begins, on day 8 the flow sensor hangs. Both last until somebody
comes.
"""

# %%
# The pump
# --------
# The power depends on flow, pressure and speed, with 2 % noise. A leak grows over an hour to 6 %
# more power. That is far less than what changes between day and night, so that no limit on the
# power itself would find it.

import matplotlib.pyplot as plt
import numpy as np

from greville import ELMRegressor
from greville.monitor import DriftMonitor

A_DAY = 24 * 60  # minutes
LEAK, HANG = 5 * A_DAY + 500, 8 * A_DAY + 700


class Pump:
    """Reports its state every minute; has faults until it is repaired."""

    def __init__(self):
        self.rng = np.random.default_rng(11)
        self.repaired = 0  # the last repair
        self.wander = 0.0

    def report(self, minute):
        """Flow, pressure and speed, and the power in kW."""
        self.wander = 0.98 * self.wander + 0.03 * self.rng.normal()
        flow = 10 + 4 * np.sin(2 * np.pi * minute / A_DAY) + 2 * self.wander
        pressure = 3 + 0.8 * np.cos(4 * np.pi * minute / A_DAY) + 0.1 * self.rng.normal()
        speed = 20 + flow + 2 * pressure + 0.5 * self.rng.normal()
        power = 1.5 + 0.25 * flow * pressure + 0.0004 * speed**2 * (1 + 0.05 * flow)
        power *= 1 + 0.02 * self.rng.normal()
        self.wasted = 0.0
        if minute >= LEAK > self.repaired:
            self.wasted = power * 0.06 * min(1, (minute - LEAK) / 60)
        if minute >= HANG > self.repaired:
            flow = 10.0
        return np.array([flow, pressure, speed]), power + self.wasted


# %%
# The loop
# --------
# ``predict_one`` and ``learn_one`` take microseconds for a NumPy array. The
# :class:`~greville.monitor.DriftMonitor` is told each error. Its one setting is the rate of false
# alarms that you accept: here at most one in 100,000 minutes, which is about ten weeks. After an
# alarm somebody needs an hour to come. Until then nothing is learned, so that the model does not
# learn the fault.
#
# The monitor compares errors with earlier ones, so they should be alike in quiet times. The noise
# of the pump is a percentage: it is twice as large by day as at night. So the model predicts the
# logarithm of the power, and errors are percentages. With kilowatts, the larger noise of the
# day would raise false alarms.

pump, model, monitor = Pump(), ELMRegressor(100, random_state=0), DriftMonitor(rate=1e-5)
help_comes = None
record, alarms, wasted = [], [], 0.0
for minute in range(10 * A_DAY):
    x, power = pump.report(minute)
    expected = np.exp(model.predict_one(x)) if minute > 0 else power
    error = np.log(power / expected)
    record.append((power, error, monitor.statistic_))
    wasted += pump.wasted / 60
    if help_comes is None:
        if minute > A_DAY and monitor.update(error):  # the first day is for learning
            alarms.append(minute)
            help_comes = minute + 60
            day, rest = divmod(minute, A_DAY)
            print(
                f"day {day}, {rest // 60:02}:{rest % 60:02}: alarm, {power:.2f} kW, "
                f"expected {expected:.2f} kW"
            )
        else:
            model.learn_one(x, np.log(power))
    elif minute == help_comes:
        pump.repaired = minute
        help_comes = None

# %%
# What it is worth
# ----------------
# The delay of each alarm, and alarms without a fault. The baseline is a fixed limit on the same
# errors, three times the standard deviation of the second day: it is easy to write, and it raises
# false alarms.

record = np.array(record)
error = record[:, 1]
limit = 3 * error[A_DAY : 2 * A_DAY].std()
quiet = slice(2 * A_DAY, LEAK)
false = [minute for minute in alarms if not any(0 <= minute - f < 600 for f in (LEAK, HANG))]
for name, start in (("leak", LEAK), ("hanging sensor", HANG)):
    found = next(minute for minute in alarms if minute >= start)
    print(f"{name}: found after {found - start} minutes")
print(f"false alarms of the monitor: {len(false)} in ten days")
print(f"false alarms of the limit:   {np.sum(np.abs(error[quiet]) > limit)} before the leak")

days_to_inspection = 7  # our assumption: without alarms somebody looks once a week
without = 0.06 * record[:, 0].mean() * 24 * days_to_inspection
print(f"the leak wasted {wasted:.2f} kWh; until a weekly inspection up to {without:.0f} kWh")

# %%
# The picture
# -----------

days = np.arange(len(record)) / A_DAY
figure, axes = plt.subplots(
    3, 1, figsize=(8, 6), layout="constrained", sharex=True, height_ratios=[1.2, 1, 1]
)
axes[0].plot(days, record[:, 0], color="0.4", lw=0.8)
axes[0].set(ylabel="power (kW)")
axes[1].plot(days[A_DAY:], 100 * error[A_DAY:], ".", color="#0072B2", ms=1.5)
axes[1].set(ylabel="error of the\nmodel (%)", ylim=(-20, 20))
axes[2].plot(days, np.maximum(record[:, 2], 1), color="#009E73", lw=1.2)
axes[2].axhline(1 / monitor.rate, color="0.4", ls="--", lw=1)
axes[2].text(1.1, 0.3 / monitor.rate, "alarm above this line", va="top", color="0.3")
axes[2].set(yscale="log", ylabel="statistic of\nthe monitor", xlabel="day", xlim=(1, 10))
for panel in axes:
    for minute in alarms:
        panel.axvline(minute / A_DAY, color="#D55E00", lw=1.5)
for name, minute in (("leak", LEAK), ("hanging sensor", HANG)):
    axes[0].annotate(
        name,
        (minute / A_DAY, 1),
        (-5, -12),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
        ha="right",
        color="#D55E00",
        backgroundcolor="white",
    )
plt.show()
