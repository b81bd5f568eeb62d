"""A page about a model: how good it is, what matters to it, and where it is most wrong."""

from .page import explain_page

__all__ = ["explain_page"]
