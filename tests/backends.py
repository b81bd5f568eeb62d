"""The backends that tests run on: the tuned one, and the plain one on a strict array API."""

import array_api_strict

from greville import backend
from greville.backend.plain import PlainBackend

# It refuses whatever the standard does not promise.
backend.register("strict", lambda: PlainBackend(array_api_strict, "strict"))

NAMES = ["scipy", "strict"]
