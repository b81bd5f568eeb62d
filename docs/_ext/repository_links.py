"""Links of the pages to files of the repository that are no pages.

`repository_pages` of conf.py says which files have a page. For the others `repository` is the
address of the repository; where it is empty, the site has a copy of the file.
"""

from pathlib import Path

from docutils import nodes
from sphinx import addnodes


def _target(node):
    """The path of a link of Markdown as it was written, without the anchor."""
    path = node["reftarget"].split("#")[0]
    return f"{path}.md" if node.get("refdomain") == "doc" else path


def _link(app, node, path, where):
    """The node for a link to `path`, which is relative to the root of the repository."""
    docname = app.config.repository_pages.get(path)
    if docname:
        link = addnodes.pending_xref(
            "", refdomain="doc", reftarget=docname, reftargetid=None, reftype="myst",
            refdoc=app.env.docname, refexplicit=True,
        )  # fmt: skip
    elif app.config.repository:
        link = nodes.reference("", "", refuri=f"{app.config.repository}/blob/main/{path}")
    elif where.is_file():
        relative = where.relative_to(Path(app.srcdir).parent)
        depth = app.env.docname.count("/") + 1
        link = addnodes.download_reference(
            "", refdomain=None, reftarget="../" * depth + relative.as_posix(), reftype="download",
            refdoc=app.env.docname, refexplicit=True,
        )  # fmt: skip
    else:  # a folder, of which there is no copy
        link = nodes.inline()
    return link


def resolve(app, doctree):
    """Replace links that lead out of the folder of the pages."""
    pages = Path(app.srcdir).resolve()
    root = pages.parent
    here = (pages / app.env.docname).parent
    for node in [*doctree.findall(addnodes.pending_xref), *doctree.findall(nodes.reference)]:
        if node.get("reftype") != "myst":
            continue
        where = (here / _target(node)).resolve()
        if node.get("refdomain") == "doc":
            where = (pages / _target(node)).resolve()
        if not where.exists():  # in a page that is included from there, such as CONTRIBUTING.md
            folders = (root, root / "examples")
            where = next(filter(Path.exists, (f / _target(node) for f in folders)), where)
        if where.exists() and where.is_relative_to(root) and not where.is_relative_to(pages):
            path = where.relative_to(root).as_posix()
            link = _link(app, node, path, where)
            link += node.children
            link.source, link.line = node.source, node.line
            node.replace_self(link)


def setup(app):
    """Register the two settings and the replacement."""
    app.add_config_value("repository", "", "env", str)
    app.add_config_value("repository_pages", {}, "env", dict)
    app.connect("doctree-read", resolve, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
