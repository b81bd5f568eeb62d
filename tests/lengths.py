"""How long tests of chance are: short in every run of the suite, and long in `make fuzz`."""

import os


def at_length(short, long):
    """The short of two values; the long one with GREVILLE_LONG=1, as `make fuzz` sets it."""
    return long if os.environ.get("GREVILLE_LONG") == "1" else short
