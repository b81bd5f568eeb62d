"""Names in docstrings, such as `Opium`, lead to their pages wherever they stand.

Sphinx looks in the present class and module alone. What is found nowhere is a parameter or a
value, and is shown as code.
"""

from sphinx.util.nodes import make_refnode


def _find(objects, name):
    """The full name of what a docstring calls `name`: the shortest, if it is the only one."""
    for full in (f"greville.{name}", name):
        if full in objects:
            return full
    found = [full for full, entry in objects.items() if full.endswith(f".{name}")]
    found = [full for full in found if objects[full].objtype in ("class", "function", "exception")]
    return found[0] if len(found) == 1 else None


def resolve(app, env, node, contnode):
    """Answer Sphinx's question after a name that it did not find."""
    if node.get("refdomain") != "py" or node.get("reftype") != "obj":
        return None
    objects = env.domains["py"].objects
    full = _find(objects, node["reftarget"])
    if full is None:
        return None
    entry = objects[full]
    return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, contnode, full)


def setup(app):
    """Register the answer."""
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
