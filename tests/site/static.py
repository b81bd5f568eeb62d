"""What can be said of the pages of a site without a browser: links, anchors, names."""

import importlib
import inspect
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Packages of which users may import every name, so that each has a page. What others export is for
# greville's own packages, but for the names that their pages of the reference choose.
PACKAGES = (
    *("adapters.river", "augment", "dask", "datasets", "following", "forecasting", "monitor"),
)

_LOADED = {"audio", "embed", "iframe", "img", "link", "script", "source", "track", "video"}


class Page(HTMLParser):
    """The links and anchors of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src"):
                self.links.append((tag, value or ""))
            elif name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value)
        if tag == "img" and "alt" not in dict(attributes):
            self.links.append(("img without alt", dict(attributes).get("src", "")))


class Site:
    """All pages of a folder, and what is wrong with their links."""

    def __init__(self, folder):
        self.folder = Path(folder).resolve()
        self.pages = {
            path: Page(path.read_text(encoding="utf-8"))
            for path in sorted(self.folder.rglob("*.html"))
            if "_static" not in path.relative_to(self.folder).parts
        }
        self.n_links = sum(len(page.links) for page in self.pages.values())

    def troubles(self):
        """Links to nothing, anchors that are not there, and what other servers would be asked."""
        if not self.pages:
            yield f"{self.folder}: there are no pages"
        for path, page in self.pages.items():
            for tag, link in page.links:
                wrong = self._wrong(path, tag, link)
                if wrong:
                    yield f"{path.relative_to(self.folder)}: {wrong}: {link}"
        for path in sorted(self.folder.rglob("*.css")):
            for link in re.findall(
                r"(?:url\(|@import\s+)[\"']?((?:https?:)?//[^\"')]+)", _css(path)
            ):
                yield f"{path.relative_to(self.folder)}: asks another server: {link}"

    def _wrong(self, path, tag, link):
        if tag == "img without alt":
            return "a picture without a text in its place"
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            remote = parts.scheme != "data" and tag in _LOADED
            return "asks another server" if remote else None
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if target.is_dir():
            target /= "index.html"
        if not target.is_file() or not target.is_relative_to(self.folder):
            return "leads nowhere"
        if parts.fragment and target in self.pages:
            return (
                None if unquote(parts.fragment) in self.pages[target].anchors else "no such anchor"
            )
        return None


def _css(path):
    return re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def public_names():
    """The full names of all that the reference must have, by what a program would import."""
    greville = importlib.import_module("greville")
    names = {*greville.__all__, "TableClassifier", "TableRegressor"}
    top = {name for name in names if not inspect.ismodule(getattr(greville, name))}
    yield from (f"greville.{name}" for name in sorted(top))
    for package in PACKAGES:
        module = importlib.import_module(f"greville.{package}")
        for name in _public(module):
            if name not in top or getattr(greville, name) is not getattr(module, name):
                yield f"{module.__name__}.{name}"


def _public(module):
    if hasattr(module, "__all__"):
        return sorted(module.__all__)
    return sorted(
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__
    )


def missing_names(site):
    """Public names that no page of the reference describes."""
    described = set().union(
        *(page.anchors for path, page in site.pages.items() if "api" in path.parts)
    )
    described |= {name.removeprefix("module-") for name in described}
    for name in public_names():
        if name not in described:
            yield f"api: {name} has no page"
