"""The page of ``greville serve`` in a browser: what a reader sees while rows come."""
# ruff: noqa: F811, since fixtures are imported

import re
import signal

import pytest

from .browsing import LOW_CONTRAST, browser, expect, visit  # noqa: F401
from .conftest import free_port

pytestmark = pytest.mark.full

CITIES = ("Bonn", "Oslo", "Rome")
HOSTILE = "<img src=x onerror=alert(1)>"
SECRET = "s3cret-and-long-enough"


def rows(n):
    """Rows whose target depends on all columns."""
    found = []
    for i in range(n):
        area, city, garden = 50 + i * 7 % 90, CITIES[i % 3], i % 2 == 0
        price = 3.0 * area + 40 * (i % 3) + 25 * garden
        found.append({"area": area, "city": city, "garden": garden, "price": price})
    return found


def tile(page, n):
    return page.locator(".tile .value").nth(n)


def fact(page, name):
    return page.locator("#facts > div", has=page.get_by_text(name, exact=True)).locator("dd")


@pytest.fixture(scope="module")
def houses(start_server):
    """A server whose model no test changes, which has seen a drift and refused a request."""
    server = start_server("--target", "price")
    server.post("/learn", rows(1500))
    server.post("/learn", [{**row, "price": 500 - row["price"]} for row in rows(200)])
    server.post("/learn", {"area": 1})
    server.post("/predict", {"area": 80, "id": 17})
    return server


@pytest.mark.posix("SIGKILL")
def test_from_the_first_row_to_a_restart(serve, visit, tmp_path):
    server = serve(tmp_path / "houses.greville", "--target", "price", port=free_port())
    page = visit(server.url, expects=["ERR_", "503"])  # none, or one that starts
    expect(page.locator("#start-curl")).to_contain_text('"price":')
    assert server.post("/learn", rows(300))[1]["learned"] == 300
    expect(tile(page, 2)).to_have_text("300")
    expect(page.locator("#picture .line-now")).to_be_visible()
    expect(page.locator("#lead")).to_have_text("A number, from 3 columns: area, city, garden")

    page.get_by_role("button", name="Use the newest row").click()
    expect(page.get_by_label("area")).to_have_value("73")
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#try-result")).to_contain_text("90 % interval")
    predicted = float(page.locator("#try-result .big").inner_text())
    assert abs(predicted - rows(300)[-1]["price"]) < 30
    page.get_by_label("area").fill("wide")
    expect(page.locator("#try-result .changed")).to_be_visible()

    server.post("/predict", {"id": "a-1", "area": 70, "city": "Oslo", "garden": True})
    first = page.locator("#rows tbody tr").first
    expect(first).to_contain_text("a-1")
    expect(first).to_contain_text("not yet")
    server.post("/learn", {"id": "a-1", "price": 275.0})
    expect(first).to_contain_text("275")
    expect(page.locator("#rows tbody tr", has_text="a-1")).to_have_count(1)

    server.end(signal.SIGKILL)
    expect(page.locator("#connection")).to_contain_text("Lost")
    server.start()
    expect(page.locator("#connection")).to_have_text("Live", timeout=20_000)
    expect(tile(page, 2)).to_have_text("301")
    expect(page.get_by_label("area")).to_have_value("wide")  # what was typed stays


def test_errors_alarms_importance_and_refusals(houses, visit):
    page = visit(houses.url)
    expect(tile(page, 2)).to_have_text("1,700")
    words = page.locator("#picture desc").text_content()
    assert "the mean absolute error of the last 1,000 rows went from" in words
    assert page.locator("#picture .alarm-line").count() >= 1
    expect(page.locator("#alarms li").first).to_contain_text("Drift alarm at row 1,5")
    expect(page.locator("#alarms li").first).to_contain_text("changed most: predictions moved by")
    expect(page.locator("#importance tr")).to_have_count(3)
    expect(page.locator("#importance tr").first).to_have_text(re.compile(r"area\s*\d"))
    expect(page.locator("#refused-list")).to_have_text('The target "price" is missing.')
    expect(fact(page, "Learning")).to_have_text("on")


def test_a_replica_says_how_far_it_is_behind(houses, serve, visit):
    page = visit(serve("--follow", houses.url).url)
    expect(fact(page, "Learning")).to_have_text(f"0 rows behind {houses.url}")


@pytest.mark.posix("access rights")
def test_classes_and_a_token(serve, visit, tmp_path):
    secret = tmp_path / "token"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    server = serve(tmp_path / "f.greville", "--target", "city", "--token-file", secret)
    headers = {"Authorization": f"Bearer {SECRET}"}
    assert server.post("/learn", rows(300), headers=headers)[0] == 200
    page = visit(server.url, ready="#token", expects=["401", "422"])
    expect(page.get_by_label("Token", exact=True)).to_be_focused()
    page.keyboard.type("wrong")
    page.keyboard.press("Enter")
    expect(page.locator("#token-wrong")).to_have_text("The server did not accept this token.")
    page.get_by_label("Token", exact=True).fill(SECRET)
    page.get_by_role("button", name="Go on").click()
    expect(page.locator("#lead")).to_contain_text("One of 3 classes (Bonn, Oslo, Rome), from 3")
    assert page.evaluate("[...Object.values(sessionStorage), localStorage.length]") == [SECRET, 0]
    page.get_by_label("price").fill("much")
    page.get_by_role("button", name="Predict").click()
    expect(page.get_by_label("price")).to_have_attribute("aria-invalid", "")
    page.get_by_label("price").fill("250")
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#try-result tr")).to_have_count(3)
    page.get_by_role("link", name="API").click()
    page.locator(".opblock", has_text="/learn").first.click()
    expect(page.locator(".opblock-body").first).to_contain_text("Idempotency-Key")


def test_several_models(serve, visit, tmp_path):
    files = [tmp_path / "a.greville", tmp_path / "b c.greville"]
    server = serve(*files, "--target", "price")
    server.post("/models/b%20c/learn", rows(50))
    page = visit(server.url)
    expect(tile(page, 2)).to_have_text("0")
    page.locator("#chooser").select_option("b c")
    expect(tile(page, 2)).to_have_text("50")
    page.reload()
    expect(tile(page, 2)).to_have_text("50")
    page.go_back()
    expect(tile(page, 2)).to_have_text("0")


def test_hostile_names_are_text_also_on_a_phone(start_server, visit):
    server = start_server("--target", HOSTILE)
    names = (HOSTILE, "n" * 200, "__proto__")
    row = {HOSTILE + "x": HOSTILE, names[1]: 1e-300, "__proto__": names[1]}
    assert server.post("/learn", [{**row, HOSTILE: k} for k in range(50)])[0] == 200
    server.post("/learn", {HOSTILE: HOSTILE, "id": HOSTILE})
    page = visit(server.url, width=360)
    expect(page.locator("h1:visible")).to_have_text(HOSTILE)
    expect(page.locator("#refused-list")).to_contain_text("img src")
    page.get_by_role("button", name="Use the newest row").click()
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#try-result .big")).to_be_visible()
    assert page.locator("img, script:not([src]), [onerror]").count() == 0
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_and_keyboard(houses, visit, scheme):
    page = visit(houses.url, color_scheme=scheme)
    expect(page.locator("#importance")).to_be_visible()
    reached = []
    for _ in range(8):
        page.keyboard.press("Tab")
        name, outline = page.evaluate(
            """() => {
              const at = document.activeElement;
              return [at.id || at.textContent.trim(), getComputedStyle(at).outlineStyle];
            }"""
        )
        assert outline != "none", name
        reached.append(name)
    inputs = ["try-0", "try-1", "try-2", "Predict", "try-newest", "try-clear"]
    assert reached == ["Skip to the content", "API", *inputs]
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#try-result .big")).to_be_visible()
    contrast = page.evaluate(LOW_CONTRAST)
    assert contrast["seen"] > 80
    assert contrast["low"] == []
