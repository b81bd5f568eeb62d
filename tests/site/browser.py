"""The pages in Chromium: nothing fails, no other server is asked, a phone can show them."""

import shutil
import sys
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

_NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, _NAMES)), None)
_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

PHONE = {"width": 390, "height": 844}
DESKTOP = {"width": 1280, "height": 900}

# Pages of the reference that stand for all of their kind
_SOME = ("greville.ELMRegressor", "greville.tables.TableModel", "greville.load")

# Words to search for, and a page that must be among the first results
SEARCHES = {"unlearn": "unlearn", "DynamicOpium": "greville.DynamicOpium", "forecast": "forecast"}

_MISSING_PICTURES = """async () => {
  const missing = [];
  for (const image of document.images) {
    image.loading = "eager";
    try { await image.decode(); } catch { if (!image.naturalWidth) missing.push(image.src); }
  }
  return missing;
}"""

# What makes the page wider than the screen: the innermost elements that stick out of it.
_WIDE = """() => {
  const width = document.documentElement.clientWidth;
  if (document.scrollingElement.scrollWidth <= width) return [];
  const scrolls = (element) => {
    for (let at = element.parentElement; at && at !== document.body; at = at.parentElement)
      if (getComputedStyle(at).overflowX !== "visible") return true;
    return false;
  };
  const out = [...document.body.querySelectorAll("*")].filter((element) =>
    element.getBoundingClientRect().right > width + 1 && !scrolls(element));
  return ["the page is " + document.scrollingElement.scrollWidth + " wide",
    ...out.slice(-3).map((e) => e.tagName + "." + e.className + ": " + e.textContent.slice(0, 60))];
}"""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class _Server(ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        """Say nothing where the browser has gone on to the next page."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def served(folder):
    """The address of a server of the folder."""
    with _Server(("127.0.0.1", 0), partial(_Quiet, directory=str(folder))) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def opened():
    """A browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_ARGUMENTS)
        try:
            yield browser
        finally:
            browser.close()


def pages_to_see(folder):
    """All that were written by hand, the gallery, and some of the reference."""
    for path in sorted(folder.rglob("*.html")):
        name = path.relative_to(folder).as_posix()
        generated = name.startswith(("_", "api/generated/")) or name in ("genindex.html",)
        if not generated or path.stem in _SOME:
            yield name


def watch(page, address, found):
    """Put into `found` what goes wrong on the page."""

    def hear(said):
        if said.type in ("error", "warning"):
            found.append(f"the console: {said.text}")

    def check(request):
        if not request.url.startswith((address, "data:", "blob:")):
            found.append(f"a request to {request.url}")

    def answer(response):
        if response.status >= 400:
            found.append(f"{response.status} for {response.url}")

    page.on("console", hear)
    page.on("pageerror", lambda error: found.append(f"an exception: {error}"))
    page.on("request", check)
    page.on("response", answer)


def look(page, url, found):
    """Look at one page: wide, dark, and as a phone shows it."""
    page.set_viewport_size(DESKTOP)
    page.goto(url)
    found += [f"no picture: {source}" for source in page.evaluate(_MISSING_PICTURES)]
    for size in (DESKTOP, PHONE):
        page.set_viewport_size(size)
        wide = page.evaluate(_WIDE)
        if wide:
            found.append(f"{size['width']} px: {'; '.join(wide)}")


def search(page, address, word):
    """The pages that the search box finds, from the start page on."""
    page.set_viewport_size(DESKTOP)
    page.goto(address)
    page.keyboard.press("Control+k")
    page.keyboard.type(word)
    page.keyboard.press("Enter")
    page.wait_for_selector("#search-results li a")
    links = page.locator("#search-results li a")
    return [links.nth(i).get_attribute("href") for i in range(links.count())]


def colours(browser, address):
    """The ground of the start page by day and by night, as the system asks for it."""
    for scheme in ("light", "dark"):
        context = browser.new_context(color_scheme=scheme)
        page = context.new_page()
        page.goto(address)
        yield page.evaluate("getComputedStyle(document.body).backgroundColor")
        context.close()


def troubles(folder):
    """What is wrong with a site when a browser shows it."""
    with served(folder) as address, opened() as browser:
        page = browser.new_page()
        page.set_default_timeout(30_000)
        found = []
        watch(page, address, found)
        for name in pages_to_see(folder):
            found.clear()
            look(page, address + name, found)
            yield from (f"{name}: {trouble}" for trouble in found)
        for word, wanted in SEARCHES.items():
            found.clear()
            results = search(page, address, word)
            if not any(wanted in result for result in results[:10]):
                found.append(f"{wanted} is not among the first of {len(results)} results")
            yield from (f"search for {word}: {trouble}" for trouble in found)
        light, dark = colours(browser, address)
        if light == dark:
            yield f"index.html: light and dark are the same, {light}"
