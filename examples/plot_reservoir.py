"""
A chaotic series, from one of its three numbers
===============================================

The weather model of Lorenz has three numbers, of which we see one. What comes next depends on the
other two as well, and so on the past. A reservoir remembers it: random units, each connected with
some others. Only the readout learns, online and exactly, and every prediction is made before the
row is learned.

**Data.** The equations of Lorenz (1963), integrated here.
"""

# %%
# The series
# ----------

import matplotlib.pyplot as plt
import numpy as np

from greville import LagLayer, Opium, RandomLayer, ReservoirLayer


def lorenz(n, step=0.02):
    """The first number of the three, at n times."""

    def slope(p):
        x, y, z = p
        return np.array([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])

    p, xs = np.array([1.0, 1.0, 20.0]), []
    for _ in range(n):
        a = slope(p)  # Runge and Kutta's method
        b = slope(p + step / 2 * a)
        c = slope(p + step / 2 * b)
        d = slope(p + step * c)
        p = p + step / 6 * (a + 2 * b + 2 * c + d)
        xs.append(p[0])
    return np.array(xs) / 10


x = lorenz(4000)
AHEAD = 10

# %%
# What the readout sees
# ---------------------
# The number alone, through random units; the last four numbers with all their products; a
# reservoir. The readout is the same.

layers = {
    "no memory": RandomLayer(200, bias=True, random_state=0),
    "lags and products": LagLayer(4, stride=2, order=3),
    "reservoir": ReservoirLayer(200, leak=0.6, random_state=0),
}
errors = {}
for name, layer in layers.items():
    H = layer.fit_transform(x[:-AHEAD, None])
    predicted = Opium("auto", intercept=True).prequential(H, x[AHEAD:])
    errors[name] = np.abs(predicted - x[AHEAD:])
    print(f"{name}: mean error {errors[name][2000:].mean():.4f}")
print(f"no change: mean error {np.abs(x[AHEAD:] - x[:-AHEAD])[2000:].mean():.4f}")

# %%
# In pieces
# ---------
# `advance` goes on where the last call ended, so that rows may come as they come.

layer = ReservoirLayer(200, leak=0.6, random_state=0).fit(x[:1, None])
H = layer.transform(x[:, None])
pieces = np.vstack([layer.advance(piece[:, None]) for piece in np.split(x, [1, 500, 1234])])
print(f"largest difference: {np.abs(pieces - H).max():.1e}")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
left.plot(x[-600:])
left.set(title="what is seen")
for name, error in errors.items():
    right.semilogy(np.convolve(error, np.ones(200) / 200, "valid"), label=name)
right.set(title=f"mean error, {AHEAD} steps ahead", xlabel="row")
right.legend()
plt.show()
