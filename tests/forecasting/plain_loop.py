"""Forecasts one time after the other, in plain loops that share no code with the library."""

from collections import deque

import numpy as np

from greville import DynamicOpium, ELMRegressor, Opium


def filled_forward(inputs):
    """Other inputs in which the last number stands for a missing one, and which are missing."""
    inputs = inputs.copy()
    missing = np.isnan(inputs)
    for t in range(len(inputs)):
        inputs[t] = np.where(missing[t], inputs[t - 1] if t else 0.0, inputs[t])
    return inputs, missing


class PlainSmoothing:
    """Exponential smoothing without a season, a setting after the other."""

    def __init__(self):
        self.settings = [
            {"gain": gain, "share": share, "damping": damping, "size": 0.0}
            for gain in (0.02, 0.1, 0.25, 0.5, 0.75, 1.0)
            for share, damping in ((0, 0), (0.02, 0.98), (0.02, 1), (0.1, 0.95))
        ]
        self.count = None

    def learn(self, value, seen):
        if self.count is None:
            self.count = 0.0
            for each in self.settings:
                each.update(level=value, trend=0.0)
            return
        self.count = 0.99 * self.count + 1 if seen else self.count
        for each in self.settings:
            faded = each["damping"] * each["trend"]
            error = value - each["level"] - faded
            each["level"] += faded + each["gain"] * error
            each["trend"] = faded + each["gain"] * each["share"] * error
            if seen:
                each["size"] = 0.99 * each["size"] + abs(error)

    def predict(self, h):
        n = max(self.count, 1e-300)
        logs = np.array([-n * np.log(max(each["size"] / n, 1e-300)) for each in self.settings])
        shares = np.exp(logs - logs.max())
        shares[shares < 1e-3] = 0
        predicted = np.zeros(h)
        for share, each in zip(shares / shares.sum(), self.settings, strict=True):
            level, trend = each["level"], each["trend"]
            for k in range(h):
                trend *= each["damping"]
                level += trend
                predicted[k] += share * level
        return predicted


def plain_loop(  # noqa: PLR0912, PLR0915
    y, lags, h, inputs=None, interval=0.9
):
    """What is predicted after each sample for each of the next h: a dictionary for each sample."""
    origin = y[np.isfinite(y)][0]
    unit = next(abs(v - origin) for v in y if np.isfinite(v) and v != origin)
    unit = 2.0 ** np.frexp(unit)[1]
    v = (y - origin) / unit
    extra, missing = filled_forward(np.zeros((len(y), 0)) if inputs is None else inputs)
    size = max(100, 10 * (lags + extra.shape[1]))
    linear, of_errors = (Opium(epsilon="auto", intercept=True) for _ in range(2))
    smoothing, smoothed, errors_known, errors_started = PlainSmoothing(), {}, {}, False
    raw = ELMRegressor(2 * size, Opium(epsilon="auto", intercept=True), 0, standardize=True)
    hidden = [
        ELMRegressor(size, solver, 0, standardize=True)
        for solver in (Opium(epsilon="auto", intercept=True), DynamicOpium(1.01, epsilon="auto"))
    ]
    level, weight, xs, last, gap = 0.0, 0.0, {}, np.nan, 0
    sizes, counts, seen_errors, largest = np.zeros((h, 8)), np.zeros(h), [0] * h, np.zeros(h)
    miss, errors = [1 - interval] * h, [deque(maxlen=500) for _ in range(h)]
    made, w, started = [], v.copy(), False
    for t in range(len(y)):
        if np.isfinite(v[t]):
            level, weight = 0.999 * level + v[t], 0.999 * weight + 1
            last, gap = v[t], 0
        else:  # what was expected, or the last sample
            gap += 1
            w[t] = last
            if made and np.isfinite(made[-1]["mixed"][0]):
                beyond = 2 * largest[0]
                low, high = np.nanmin(v[:t]) - beyond, np.nanmax(v[:t]) + beyond
                w[t] = np.clip(w[t - 1] + made[-1]["mixed"][0], low, high)
        if np.isfinite(w[t]):
            if t - 1 in smoothed:
                errors_known[t] = w[t] - smoothed[t - 1][0]
            smoothing.learn(w[t], np.isfinite(v[t]))
            smoothed[t] = smoothing.predict(h)
        # Rows are learned when the last of their targets has come, ...
        if t - h in xs and np.isfinite(v[t - h]) and np.isfinite(v[t - h + 1 : t + 1]).any():
            plain, levelled, as_they_are = xs[t - h]
            changes = v[t - h + 1 : t + 1] - v[t - h]
            models, rows = (linear, *hidden, raw), (plain, levelled, levelled, as_they_are)
            for model, x in zip(models, rows, strict=True):
                own = np.ravel(model.predict([x])[0]) if started else np.zeros(h)
                learned = np.where(np.isnan(changes), own, changes)
                model.partial_fit([x], [learned] if h > 1 else learned)
            started = True
        latest = [errors_known.get(t - h - k, np.nan) for k in range(10)]
        to_come = v[max(t - h, 0) + 1 : t + 1]
        if (
            np.isfinite([v[t - h] if t >= h else np.nan, *latest]).all()
            and np.isfinite(to_come).any()
        ):
            own = np.ravel(of_errors.predict([latest])[0]) if errors_started else np.zeros(h)
            learned = to_come - smoothed[t - h]
            learned = np.where(np.isnan(learned), own, learned)
            of_errors.partial_fit([latest], [learned] if h > 1 else learned)
            errors_started = True
        # ... an error counts when its target has come, ...
        for k in range(1, h + 1):
            if t < k or np.isnan(v[t]):
                continue
            if np.isfinite(v[t - k]):
                largest[k - 1] = max(largest[k - 1], abs(v[t] - v[t - k]))
            before = made[t - k]
            if np.isfinite(before["mixed"][k - 1]):
                change = v[t] - w[t - k]
                seen_errors[k - 1] += 1
                trust = min(1, seen_errors[k - 1] / 50)
                e = before["changes"][:, k - 1] - change
                sizes[k - 1] = 0.99 * sizes[k - 1] + trust * np.abs(e)
                counts[k - 1] = 0.99 * counts[k - 1] + trust
                size, half = abs(before["mixed"][k - 1] - change), before["half"][k - 1]
                if np.isfinite(half):
                    miss[k - 1] += 0.02 * (1 - interval - float(size > half))
                errors[k - 1].append(size)
        # ... and the next samples are predicted.
        row = {"last": last, "mixed": np.full(h, np.nan), "half": np.full(h, np.nan)}
        row["changes"] = np.full((8, h), np.nan)
        lagged = np.array([w[t - k] if t >= k else np.nan for k in range(lags)])
        if np.isfinite(lagged).all():
            share = np.mean([np.isnan(v[t - k]) for k in range(lags)])
            x = np.array([*lagged, *extra[t], share, *missing[t]])
            as_they_are = x.copy()
            x[1:lags] -= w[t]
            levelled = np.array([w[t] - level / weight, *x[1:]])
            xs[t] = x, levelled, as_they_are
            changes = np.zeros((8, h))
            changes[0] = last - w[t]
            changes[1] = np.median(w[max(0, t - 99) : t + 1]) - w[t]
            changes[2] = smoothed[t] - w[t]
            if started:
                changes[3] = linear.predict([x])[0]
                changes[5:7] = [np.ravel(model.predict([levelled])[0]) for model in hidden]
                changes[7] = np.ravel(raw.predict([as_they_are])[0])
            latest = [errors_known.get(t - k, np.nan) for k in range(10)]
            changes[4] = changes[0]
            if np.isfinite(latest).all():
                own = np.ravel(of_errors.predict([latest])[0]) if errors_started else np.zeros(h)
                changes[4] = changes[2] + own
            row["changes"] = np.clip(changes, -2 * largest, 2 * largest)
            for k in range(h):
                n = max(counts[k], 1e-300)
                complexity = [-1, 2, 0, 0, 2, 1, 2, 2] if k else [0, 2, 0, 0, 0, 1, 2, 2]
                logs = -np.log(3) * np.array(complexity) - n / 4 * np.log(
                    np.maximum(sizes[k] / n, 1e-300)
                )
                shares = np.exp(logs - logs.max())
                row["mixed"][k] = shares @ row["changes"][:, k] / shares.sum()
                i = min(k + gap, h - 1)  # in a gap, the interval of a later step
                if len(errors[i]) >= 20:
                    ranked, rank = np.sort(errors[i]), np.ceil((len(errors[i]) + 1) * (1 - miss[i]))
                    largest_error = ranked[-1] * max(1, 1 - 10 * miss[i])
                    inside = rank <= len(ranked)
                    row["half"][k] = ranked[max(int(rank), 1) - 1] if inside else largest_error
        made.append(row)
    return [
        {
            "prediction": origin + unit * (w[t] + row["mixed"]),
            "lower": origin + unit * (w[t] + row["mixed"] - row["half"]),
            "upper": origin + unit * (w[t] + row["mixed"] + row["half"]),
            "persistence": np.full(h, origin + unit * row["last"]),
            "seasonal": np.full(h, origin + unit * row["last"]),
            "linear": origin + unit * (w[t] + row["changes"][3]),
        }
        for t, row in enumerate(made)
    ]
