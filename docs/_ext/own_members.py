"""Which methods are shown: those of greville, not those of scikit-learn and river."""


def skip(app, what, name, member, skipped, options):
    """Leave out what these libraries define, such as `set_output`."""
    function = getattr(member, "fget", None) or member
    home = getattr(function, "__module__", None) or ""
    if home.startswith(("river.", "sklearn.")) or name.endswith("_request"):  # made for each class
        return True
    return None


def setup(app):
    """Register it."""
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
