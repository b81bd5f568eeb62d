"""The checks of the site find what is wrong with a page."""

import pytest

from . import browser, static

GOOD = """<html><head><title>x</title></head><body id="top">
<a href="other.html#there">x</a> <a href="#top">x</a> <a href="https://example.org/x">x</a>
<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=" alt="">
</body></html>"""


@pytest.fixture
def site(tmp_path):
    """Write pages into a folder; the page other.html is always there."""

    def write(**pages):
        pages.setdefault("other", '<html><p id="there"></p></html>')
        for name, text in pages.items():
            (tmp_path / f"{name}.html").write_text(text)
        return tmp_path

    return write


def test_a_site_without_troubles(site):
    assert not [*static.Site(site(index=GOOD)).troubles()]


@pytest.mark.parametrize(
    ("text", "trouble"),
    [
        ('<a href="gone.html">x</a>', "leads nowhere: gone.html"),
        ('<a href="../">x</a>', "leads nowhere: ../"),
        ('<a href="other.html#here">x</a>', "no such anchor: other.html#here"),
        ('<a href="#here">x</a>', "no such anchor: #here"),
        ('<img src="gone.png" alt="x">', "leads nowhere: gone.png"),
        ('<img src="other.html">', "a picture without a text in its place: other.html"),
        ('<script src="https://cdn.example/x.js"></script>', "https://cdn.example/x.js"),
        ('<link href="//cdn.example/x.css">', "asks another server: //cdn.example/x.css"),
    ],
)
def test_a_page_with_a_trouble(site, text, trouble):
    [found] = static.Site(site(index=text)).troubles()
    assert found.startswith("index.html: ")
    assert found.endswith(trouble)


def test_style_sheets_ask_no_other_server(site):
    folder = site(index=GOOD)
    (folder / "x.css").write_text(
        "/* url(https://fine.example) */ a {src: url('https://x.example/f')}"
    )
    assert [*static.Site(folder).troubles()] == ["x.css: asks another server: https://x.example/f"]


def test_an_empty_site_is_a_trouble(tmp_path):
    assert len([*static.Site(tmp_path).troubles()]) == 1


def test_names_without_a_page(site):
    folder = site(index=GOOD)
    (folder / "api").mkdir()
    (folder / "api" / "x.html").write_text('<dt id="greville.ELMRegressor"></dt>')
    missing = [*static.missing_names(static.Site(folder))]
    assert "api: greville.ELMRegressor has no page" not in missing
    assert "api: greville.ELMClassifier has no page" in missing
    assert "api: greville.forecasting.Forecaster has no page" in missing
    assert "api: greville.tables.in_chunks has no page" not in missing  # for the command
    assert "api: greville.solvers.Opium has no page" not in missing  # it is greville.Opium


@pytest.mark.skipif(browser.CHROMIUM is None, reason="there is no Chromium on this machine")
def test_what_a_browser_sees(site):
    pytest.importorskip("playwright.sync_api", reason="pages are opened with playwright")
    head = '<link rel="icon" href="data:,"><meta name="viewport" content="width=device-width">'
    wide = f'{head}<p style="width: {{}}px">x</p>'
    folder = site(
        good=f'{wide.format(300)}<div style="overflow-x: auto">{wide.format(900)}</div>',
        wide=wide.format(900),
        picture='<img src="other.html" alt="x">',
        script="<script>throw Error('broken')</script>",
        remote="<script src='http://127.0.0.2:9/x.js'></script>",
    )
    with browser.served(folder) as address, browser.opened() as opened:
        page = opened.new_page()
        found = []
        browser.watch(page, address, found)

        def look(name):
            found.clear()
            browser.look(page, f"{address}{name}.html", found)
            return " ".join(found)

        assert not look("good")
        assert "390 px: the page is 9" in look("wide")
        assert "no picture: " in look("picture")
        assert "an exception: broken" in look("script")
        assert "a request to http://127.0.0.2:9/x.js" in look("remote")
