"""An anchor of HTML in a page, ``<a id="name"></a>`` on a line of its own, is a target of links."""

import re

_ANCHOR = re.compile(r'^<a id="([\w-]+)"></a>\n', re.MULTILINE)


def replace(app, docname, source):
    """Write anchors as MyST writes them; other readers of Markdown know only those of HTML."""
    source[0] = _ANCHOR.sub(r"(\1)=\n", source[0])


def setup(app):
    """Register it."""
    app.connect("source-read", replace)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
