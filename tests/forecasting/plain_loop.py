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
    linear = Opium(epsilon="auto", intercept=True)
    hidden = [
        ELMRegressor(size, solver, 0, standardize=True)
        for solver in (Opium(epsilon="auto", intercept=True), DynamicOpium(1.01, epsilon="auto"))
    ]
    level, weight, xs, last, gap = 0.0, 0.0, {}, np.nan, 0
    squares, counts, seen_errors, largest = np.zeros((h, 4)), np.zeros(h), [0] * h, np.zeros(h)
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
        # Rows are learned when the last of their targets has come, ...
        if t - h in xs and np.isfinite(v[t - h]) and np.isfinite(v[t - h + 1 : t + 1]).any():
            plain, levelled = xs[t - h]
            changes = v[t - h + 1 : t + 1] - v[t - h]
            for model, x in zip((linear, *hidden), (plain, levelled, levelled), strict=True):
                own = np.ravel(model.predict([x])[0]) if started else np.zeros(h)
                learned = np.where(np.isnan(changes), own, changes)
                model.partial_fit([x], [learned] if h > 1 else learned)
            started = True
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
                squares[k - 1] = 0.98 * squares[k - 1] + trust * e**2
                counts[k - 1] = 0.98 * counts[k - 1] + trust
                size, half = abs(before["mixed"][k - 1] - change), before["half"][k - 1]
                if np.isfinite(half):
                    miss[k - 1] += 0.01 * (1 - interval - float(size > half))
                errors[k - 1].append(size)
        # ... and the next samples are predicted.
        row = {"last": last, "mixed": np.full(h, np.nan), "half": np.full(h, np.nan)}
        row["changes"] = np.full((4, h), np.nan)
        lagged = np.array([w[t - k] if t >= k else np.nan for k in range(lags)])
        if np.isfinite(lagged).all():
            share = np.mean([np.isnan(v[t - k]) for k in range(lags)])
            x = np.array([*lagged, *extra[t], share, *missing[t]])
            x[1:lags] -= w[t]
            levelled = np.array([w[t] - level / weight, *x[1:]])
            xs[t] = x, levelled
            changes = np.zeros((4, h))
            changes[0] = last - w[t]
            if started:
                changes[1] = linear.predict([x])[0]
                changes[2:] = [np.ravel(model.predict([levelled])[0]) for model in hidden]
            row["changes"] = np.clip(changes, -2 * largest, 2 * largest)
            for k in range(h):
                n = max(counts[k], 1e-300)
                logs = -np.log(3) * np.array([0, 0, 1, 2]) - n / 2 * np.log(
                    np.maximum(squares[k] / n, 1e-300)
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
            "linear": origin + unit * (w[t] + row["changes"][1]),
        }
        for t, row in enumerate(made)
    ]
