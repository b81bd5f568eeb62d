"""Formulas as MathML, which browsers draw themselves: no script and no font is loaded."""

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

logger = logging.getLogger(__name__)


def _mathml(node, *, block):
    text = node.astext()
    if block and "\\\\" in text and "\\begin" not in text:
        text = rf"\begin{{aligned}}{text}\end{{aligned}}"
    try:
        return tex2mathml(text, as_block=block)
    except SyntaxError as error:
        logger.warning("this formula is not understood: %s (%s)", text, error, location=node)
        return ""


def visit_math(self, node):
    """Write a formula within a line."""
    self.body.append(_mathml(node, block=False))
    raise nodes.SkipNode


def visit_display(self, node):
    """Write a formula of its own."""
    self.body.append(f'<div class="math-display">{_mathml(node, block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app):
    """Register the renderer; ``html_math_renderer = "mathml"`` selects it."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
