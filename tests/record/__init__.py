"""A record of what greville does, kept outside the test suite.

``python -m tests.record`` runs some hundred small cases through the public API, the command and the
server, and compares what comes out with the record in ``stored/``. A case asserts nothing: it says
what happened. So the record notices any change, wanted or not, and leaves the judgement to people.
"""
