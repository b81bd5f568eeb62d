"""Which private names of one package another one uses: ``python -m tests.private_names``.

A name with an underscore belongs to the package that defines it. This looks at imports, and at
attributes of objects: ``x._name`` is a use of another package if no module of this package defines
a `_name`, and one of another does.
"""

import ast
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "greville"


def is_private(name):
    return name.startswith("_") and not name.endswith("__")


def package_of(path, source):
    """The first name below the source: a package, or a module of its own."""
    return path.relative_to(source).parts[0].removesuffix(".py")


def defined(tree):
    """Private names that a module defines: functions, classes, attributes, variables."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value  # in __slots__


def imported(tree, path, source):
    """The packages and names of all imports from this project, with their lines."""
    here = path.relative_to(source.parent).with_suffix("").parts
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            module = tuple((node.module or "").split(".")) if node.module else ()
            if node.level:
                module = here[: len(here) - node.level] + module
            for name in node.names:
                yield node.lineno, (*module, name.name)
        elif isinstance(node, ast.Import):
            for name in node.names:
                yield node.lineno, tuple(name.name.split("."))


def violations(source=SOURCE):
    """A line for each use of a private name of another package."""
    trees = {path: ast.parse(path.read_text()) for path in sorted(source.rglob("*.py"))}
    owners = {}
    for path, tree in trees.items():
        for name in filter(is_private, defined(tree)):
            owners.setdefault(name, set()).add(package_of(path, source))
    found = []
    for path, tree in trees.items():
        own = package_of(path, source)
        for line, names in imported(tree, path, source):
            if names[0] == source.name and names[1:2] != (own,) and any(map(is_private, names)):
                found.append(f"{path.relative_to(source)}:{line}: imports {'.'.join(names)}")
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and is_private(node.attr):
                owner = owners.get(node.attr, set())
                if owner and own not in owner:
                    where = f"{path.relative_to(source)}:{node.lineno}"
                    found.append(f"{where}: uses {node.attr} of {', '.join(sorted(owner))}")
    return found


if __name__ == "__main__":
    lines = violations()
    print("\n".join(lines) or "No package uses private names of another.")
    sys.exit(bool(lines))
