"""Measurements: `python -m benchmarks [exactness] [mnist] [stream]`."""
