"""Pages in Chromium, whose console is read by every test."""

import re
import shutil

import pytest


def expect(what):
    """Playwright's, which is only there where pages are tested."""
    from playwright.sync_api import expect

    return expect(what)


_NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, _NAMES)), None)
_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine")
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=_ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser):
    """Open a page. At the end nothing may be wrong but what the test expects.

    What is wrong: errors and warnings in the console, and with them all violations of the content
    security policy, exceptions, dialogs, and requests to other servers.
    """
    contexts, row_errors, expected = [], [], []

    def visit(address, path="/", expects=(), ready="#board", width=1280, **options):
        expected.extend(expects)
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        _watch(page, address, row_errors)
        page.goto(address + path)
        expect(page.locator(ready)).to_be_visible()
        return page

    yield visit
    for context in contexts:
        context.close()
    wrong = [text for text in row_errors if not any(re.search(e, text) for e in expected)]
    assert not wrong, wrong


def _watch(page, address, row_errors):
    def hear(said):
        if said.type in ("error", "warning"):
            row_errors.append(said.text)

    def refuse(dialog):
        row_errors.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def check(asked):
        if not asked.url.startswith((address, "data:")):
            row_errors.append(f"a request to {asked.url}")

    page.on("console", hear)
    page.on("pageerror", lambda error: row_errors.append(str(error)))
    page.on("dialog", refuse)
    page.on("request", check)


# The contrast of every visible text with the nearest ground behind it that has a colour.
LOW_CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = (colour) => {
    const [r, g, b] = rgba(colour).map((c) => c / 255)
      .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (rgba(colour)[3] === 255) return colour;
    }
    return "white";
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const low = [];
  let seen = 0;
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !element.checkVisibility()) continue;
    if (element.closest("title, desc, script, noscript")) continue;
    const style = getComputedStyle(element);
    const colour = element.namespaceURI.endsWith("svg") ? style.fill : style.color;
    const [a, b] = [light(colour), light(ground(element))].sort((x, y) => y - x);
    seen += 1;
    if ((a + 0.05) / (b + 0.05) < 4.5) low.push([walker.currentNode.textContent, colour]);
  }
  return {seen, low};
}"""
