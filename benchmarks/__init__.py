"""Measurements: `python -m benchmarks [stream] [exactness] [mnist] [soak] [forgetting] [drift]`."""
