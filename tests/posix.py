"""Modules that only POSIX systems have; tests that use them are marked ``posix``."""

try:
    import pty
    import resource
except ImportError:  # Windows
    pty = resource = None

__all__ = ["pty", "resource"]
