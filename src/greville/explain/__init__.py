"""A page about a model: how good it is, what matters to it, and where it is most wrong."""

from .comparison import Comparison, compare_models, draw_comparison
from .page import explain_page

__all__ = ["Comparison", "compare_models", "draw_comparison", "explain_page"]
