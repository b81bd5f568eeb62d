"""On a GPU: fits, streams and predictions, next to what the device can do and to plain torch."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np

from greville import ELMClassifier, Opium, RandomLayer, devices

from .measure import mnist

UNITS, CLASSES = 7840, 10

# Seconds for which products run before and while the limit is measured: in the first moments a GPU
# is faster than it stays.
_SUSTAINED = 0.5


def run() -> None:
    """Print the table of docs/speed.md."""
    try:
        import torch
    except ImportError:
        print("    torch is not installed (pip install '.[torch]'): nothing was measured")
        return
    _processor(torch)
    if not torch.cuda.is_available():
        print("    torch finds no GPU here: nothing else was measured")
        return
    Bench(torch).run()


def _processor(torch: Any, rounds: int = 4) -> None:
    """Tensors in the memory of the processor: as NumPy arrays, and by torch."""
    generator = torch.Generator().manual_seed(0)
    H = torch.randn(20_000, 1000, dtype=torch.float64, generator=generator)
    Y = H[:, :1] + torch.randn(20_000, 1, dtype=torch.float64, generator=generator)

    def fit() -> None:
        Opium(1.0).fit(H, Y)

    def chunks() -> None:
        model = Opium(1.0).partial_fit(H[:100], Y[:100])
        for start in range(100, 5000, 100):
            model.predict(H[start : start + 100])
            model.partial_fit(H[start : start + 100], Y[start : start + 100])

    for name, work in (("fit of 20,000 x 1000", fit), ("50 chunks of 100, predicted", chunks)):
        times = []
        for devices._tensors_stay_tensors in (False, True):
            times.append(min(_seconds(work) for _ in range(rounds)))
        devices._tensors_stay_tensors = False
        print(f"    on the processor, {name}: {times[0]:.2f} s as NumPy, {times[1]:.2f} s by torch")


def _seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


class Bench:
    """All measurements, on the GPU that torch uses."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        X, y, X_test, y_test = mnist()
        self.X, self.y = X.astype(np.float64), y
        self.rows, self.labels = self.on_device(self.X), self.on_device(y)
        self.test, self.test_labels = self.on_device(X_test.astype(np.float64)), y_test
        self.gemm: dict[str, float] = {}

    def on_device(self, A: Any) -> Any:
        return self.torch.as_tensor(A, device="cuda")

    def normal(self, *shape: int) -> Any:
        return self.torch.randn(*shape, device="cuda", dtype=self.torch.float64)

    def seconds(self, work: Callable[[], Any], rounds: int = 3) -> float:
        """The shortest of some rounds, after one that does not count."""
        times = []
        for _ in range(rounds + 1):
            self.torch.cuda.synchronize()
            start = time.perf_counter()
            work()
            self.torch.cuda.synchronize()
            times.append(time.perf_counter() - start)
        return min(times[1:])

    def line(self, job: str, took: str, beside: str, wanted: str = "") -> None:
        print(f"| {job} | {took} | {beside} | {wanted} |", flush=True)

    def run(self) -> None:
        torch = self.torch
        print(
            f"{date.today()}, {torch.cuda.get_device_name()}, torch {torch.__version__}; "
            "MNIST's 60,000 x 784 inputs, float64, best of three\n"
        )
        self.limits()
        print("\n| job | took | beside it | wanted |\n|---|---|---|---|")
        self.fit()
        self.large()
        self.chosen()
        self.record()
        self.chunks()
        self.single()
        self.predictions()
        self.float32()
        self.waiting()

    def limits(self) -> None:
        """What the device can do: products in each precision, and memory."""
        torch = self.torch
        for name, dtype in (("float64", torch.float64), ("float32", torch.float32)):
            self.gemm[name] = self.rate(torch.randn(8192, 8192, device="cuda", dtype=dtype))
        before = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("high")
        self.gemm["tf32"] = self.rate(torch.randn(8192, 8192, device="cuda"))
        torch.set_float32_matmul_precision(before)
        A = self.normal(8192, 8192)
        bandwidth = 16 * A.numel() / self.seconds(A.clone) / 1e9
        rates = ", ".join(f"{name} {rate:.0f}" for name, rate in self.gemm.items())
        print(f"gemm, 8192 x 8192, for {_SUSTAINED} s, in 10¹² operations a second: {rates}")
        print(f"memory: {bandwidth:,.0f} GB/s")

    def rate(self, A: Any) -> float:
        operations, torch = 2 * len(A) ** 3, self.torch
        torch.cuda.synchronize()
        start, n = time.perf_counter(), 0
        while time.perf_counter() - start < _SUSTAINED:
            for _ in range(10):
                A @ A
            n += 10
            torch.cuda.synchronize()
        return n * operations / (time.perf_counter() - start) / 1e12

    # Jobs

    def share(self, operations: float, took: float) -> str:
        part = operations / self.gemm["float64"] / 1e12 / took
        return f"{100 * part:.0f} % of the gemm limit"

    def fit(self) -> None:
        torch, epsilon = self.torch, 10.0
        operations = len(self.rows) * (UNITS**2 + 2.0 * 784 * UNITS)
        model = ELMClassifier(UNITS, Opium(epsilon), random_state=0)
        took = self.seconds(lambda: model.fit(self.rows, self.labels))
        error = 100 * (1 - model.score(self.test, self.test_labels))
        self.line(
            f"`fit`, {UNITS} units, data on the device",
            f"{took:.3f} s",
            f"error {error:.2f} %; {self.share(operations, took)}",
            "0.2 s",
        )
        weights, bias = (self.on_device(A) for A in (model.hidden_.weights_, model.hidden_.bias_))
        product = self.seconds(lambda: self.rows @ weights)
        H = torch.tanh(self.rows @ weights + bias)
        whole = self.seconds(lambda: H.T @ H)
        limit = product + whole / 2
        self.line(
            "the products X·W and (half of) H'H alone, by torch",
            f"{limit:.3f} s",
            f"{100 * limit / took:.0f} % of the learning",
        )
        Y = self.on_device(np.eye(CLASSES)[self.y])
        took = self.seconds(lambda: self._plain(weights, bias, Y, epsilon))
        self.line("plain torch: `H.T @ H` summed up, `torch.linalg.solve`", f"{took:.3f} s", "")
        took = self.seconds(lambda: torch.linalg.lstsq(H, Y), 1)
        self.line("`torch.linalg.lstsq(H, Y)`, H there already", f"{took:.2f} s", "no ridge")
        moved = ELMClassifier(UNITS, Opium(epsilon), random_state=0, device="cuda")
        took = self.seconds(lambda: moved.fit(self.X, self.y))
        self.line("`fit` from NumPy on the host", f"{took:.3f} s", "", "0.5 s")

    def _plain(self, weights: Any, bias: Any, Y: Any, epsilon: float) -> Any:
        torch = self.torch
        G = epsilon**2 * torch.eye(UNITS, device="cuda", dtype=torch.float64)
        C = torch.zeros(UNITS, CLASSES, device="cuda", dtype=torch.float64)
        for start in range(0, len(self.rows), 10_000):
            H = torch.tanh(self.rows[start : start + 10_000] @ weights + bias)
            G += H.T @ H
            C += H.T @ Y[start : start + 10_000]
        return torch.linalg.solve(G, C)

    def large(self) -> None:
        model = ELMClassifier(40_000, Opium(10.0), random_state=0)
        took = self.seconds(lambda: model.fit(self.rows, self.labels), 1)
        error = 100 * (1 - model.score(self.test, self.test_labels))
        memory = self.torch.cuda.max_memory_allocated() / 1e9
        self.line(
            "`fit`, 40,000 units", f"{took:.2f} s", f"error {error:.2f} %, {memory:.0f} GB", "4 s"
        )

    def chosen(self) -> None:
        model = ELMClassifier(10_000, random_state=0)
        default = self.seconds(lambda: model.fit(self.rows, self.labels))
        given = ELMClassifier(10_000, Opium(model.epsilon_, intercept=True), random_state=0)
        took = self.seconds(lambda: given.fit(self.rows, self.labels))
        self.line(
            "`fit`, 10,000 units, ε chosen",
            f"{default:.3f} s",
            f"{default / took:.2f} times as long as with ε given",
            "1.5 times",
        )

    def record(self) -> None:
        H, Y = self.normal(60_000, 4000), self.normal(60_000, 1)
        took = self.seconds(lambda: Opium(1.0).prequential(H, Y), 1)
        auto = self.seconds(lambda: Opium("auto").prequential(H, Y), 1)
        self.line(
            "record of 60,000 rows, 4000 units", f"{took:.2f} s", f"ε chosen {auto:.2f} s", "2 s"
        )

    def chunks(self) -> None:
        torch = self.torch
        for M in (4000, 10_000):
            H, Y = self.normal(20_000, M), self.normal(20_000, CLASSES)
            model = Opium(1.0).fit(H, Y)

            def step(model: Any = model, H: Any = H, Y: Any = Y) -> None:
                model.predict(H[:1000])
                model.partial_fit(H[:1000], Y[:1000])

            took = self.seconds(step, 5)
            G, W = H.T @ H, self.normal(M, CLASSES)

            def bare(G: Any = G, W: Any = W, H: Any = H, Y: Any = Y) -> None:
                torch.linalg.cholesky_ex(G.mT, upper=False)
                H[:1000] @ W, H[:1000].T @ Y[:1000], H[:1000].T @ H[:1000]

            beside = self.seconds(bare, 5)
            self.line(
                f"chunk of 1000, {M:,} units, predicted first",
                f"{1e3 * took:.1f} ms",
                f"{took / beside:.2f} times the products and one Cholesky factor",
                "2 times" if M == 10_000 else "",
            )

    def single(self) -> None:
        H, Y = self.normal(10_000, 4000), self.normal(10_000, 1)
        times = []
        for A, B in ((H, Y), (H.cpu().numpy(), Y.cpu().numpy())):
            model = Opium(1.0).fit(A, B)

            def step(model: Any = model, A: Any = A, B: Any = B) -> None:
                for i in range(20):
                    model.predict_one(A[i])
                    model.learn_one(A[i], B[i])

            times.append(self.seconds(step) / 20)
        self.line(
            "single row, 4000 units, predicted first",
            f"{1e3 * times[0]:.1f} ms",
            f"on this machine's CPU {1e3 * times[1]:.2f} ms",
        )

    def predictions(self) -> None:
        M, n = 10_000, 1_000_000
        layer = RandomLayer(M, bias=True)
        model = ELMClassifier(layer, Opium(10.0), random_state=0).fit(self.rows, self.labels)
        X = self.rows.repeat(17, 1)[:n]
        self.torch.cuda.reset_peak_memory_stats()
        before = self.torch.cuda.memory_allocated()
        took = self.seconds(lambda: model.predict(X), 2)
        memory = (self.torch.cuda.max_memory_allocated() - before) / 1e9
        operations = n * (2.0 * 784 * M + 2.0 * M * CLASSES)
        weights = self.on_device(model.hidden_.weights_)
        product = self.seconds(lambda: self.rows @ weights, 5) * n / len(self.rows)
        share = self.share(operations, took)
        self.line(
            f"{n:,} predictions, {M:,} units",
            f"{took:.3f} s",
            f"{share}; X·W alone {product:.3f} s; {memory:.1f} GB",
            "80 %",
        )

    def float32(self) -> None:
        rows = self.rows.float()
        exact = ELMClassifier(UNITS, Opium(10.0), random_state=0).fit(self.rows, self.labels)
        want: Any = exact.decision_function(self.test)
        model: Any = ELMClassifier(UNITS, Opium(10.0), random_state=0)
        took = self.seconds(lambda: model.fit(rows, self.labels))
        got = model.decision_function(self.test.float()).double()
        off = float((got - want).abs().max())
        error = 100 * (1 - model.score(self.test.float(), self.test_labels))
        self.line(
            f"`fit`, {UNITS} units, float32",
            f"{took:.3f} s",
            f"outputs up to {off:.1e} from those of float64; error {error:.2f} %",
        )

    def waiting(self) -> None:
        """Short chunks, each of which waits for the device once: for its largest numbers."""
        torch = self.torch
        H, Y = self.normal(20_000, 4000), self.normal(20_000, 1)
        for n in (1, 100):
            model = Opium(1.0).fit(H[:10_000], Y[:10_000])
            torch.cuda.synchronize()
            start = time.perf_counter()
            for i in range(20):
                model.partial_fit(H[i * n : (i + 1) * n], Y[i * n : (i + 1) * n])
            took = (time.perf_counter() - start) / 20
            self.line(
                f"`partial_fit` of {n} rows, 4000 units",
                f"{1e6 * took:.0f} µs",
                "with one look at the numbers",
            )
