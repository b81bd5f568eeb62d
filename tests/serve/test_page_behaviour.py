"""How the page of a model behaves: connections, tokens, keyboards, phones, hostile names."""
# ruff: noqa: F811, since fixtures are imported

import re

import pytest

from ._fake import entry, houses, nothing_learned, state, tick
from .browsing import LOW_CONTRAST, browser, expect, scripted, visit  # noqa: F401

pytestmark = pytest.mark.full

HOSTILE = "<img src=x onerror=alert(1)>"
LONG = "n" * 200


def is_too_wide(page):
    return page.evaluate("document.documentElement.scrollWidth > innerWidth")


def hostile():
    """A model and a state in which every text is an attack, and most are long."""
    model = houses(
        name=HOSTILE,
        target=HOSTILE + LONG,
        solver=HOSTILE,
        columns=[
            {"name": HOSTILE, "what": HOSTILE, "values": [HOSTILE, LONG]},
            {"name": LONG, "what": "number"},
            {"name": "__proto__", "what": "number"},
        ],
    )
    values = {HOSTILE: HOSTILE, LONG: LONG, "nothing": None}
    last = [entry(3, id=HOSTILE, prediction=1e-12, interval=[-3e300, 5e300], values=values)]
    return model, state(last=last, error=state()["error"] | {"name": HOSTILE})


def test_hostile_names_are_text(scripted, visit):
    model, events = hostile()
    script = scripted({HOSTILE: model}, {HOSTILE: events})
    page = visit(script.address)
    script.send("refused", {"error": HOSTILE, "field": HOSTILE})
    expect(page.locator("#refused-list")).to_have_text(HOSTILE)
    expect(page.locator("h1:visible")).to_have_text(HOSTILE + LONG)
    page.locator("#columns > summary").click()
    page.locator("#rows summary").click()
    script.prediction = {"prediction": HOSTILE, "field": None}
    page.get_by_role("button", name="Use the newest row").click()
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#try-result .big")).to_have_text(HOSTILE)
    assert page.locator("img, script:not([src]), [onerror]").count() == 0
    (row,) = script.asked("/predict?std")
    assert row[HOSTILE] == HOSTILE


def test_connects_again(scripted, visit):
    script = scripted()
    page = visit(script.address)
    script.states["houses"] = state(rows=7777)
    script.end_streams()
    expect(page.locator("#connection")).to_have_text(re.compile("Lost, trying again in 1 s"))
    expect(page.locator("#said")).to_have_text("The connection was lost.")
    expect(page.locator(".tile .value").nth(2)).to_have_text("7,777")
    expect(page.locator("#connection")).to_have_text("Live")


def test_a_silent_server_is_lost_and_waits_grow(scripted, visit):
    script = scripted()
    page = visit(script.address, expects=["503"])
    page.clock.install()
    page.reload()
    expect(page.locator("#connection")).to_have_text("Live")
    script.models.clear()  # from here on it is not ready
    page.clock.fast_forward(21_000)
    for seconds in (1, 2, 4):
        expect(page.locator("#connection")).to_have_text(f"Lost, trying again in {seconds} s")
        if seconds > 1:
            expect(page.locator("#trouble")).to_have_text("The log is still being read.")
        page.get_by_role("button", name="Try now").click()


def test_a_page_in_the_background_leaves_the_server_alone(scripted, visit):
    hide = """(hidden) => {
      Object.defineProperty(document, "hidden", {value: hidden, configurable: true});
      document.dispatchEvent(new Event("visibilitychange"));
    }"""
    script = scripted()
    page = visit(script.address)
    page.clock.install()
    page.reload()
    expect(page.locator("#connection")).to_have_text("Live")
    page.evaluate(hide, True)
    for _ in range(7):  # ticks, as the server sends them; without any it would be lost
        script.send("tick", tick())
        page.clock.run_for(10_000)
    expect(page.locator("#connection")).to_have_text("Connecting")
    page.wait_for_timeout(500)  # what was on its way has come
    asked = len(script.requests)
    page.clock.run_for(60_000)
    page.wait_for_timeout(300)
    assert len(script.requests) == asked
    expect(page.locator("#connection")).to_have_text("Connecting")
    script.states["houses"] = state(rows=7777)
    page.evaluate(hide, False)
    expect(page.locator("#connection")).to_have_text("Live")
    page.clock.run_for(1000)
    expect(page.locator(".tile .value").nth(2)).to_have_text("7,777")


def test_token(scripted, visit):
    script = scripted(token="s3cret")
    page = visit(script.address, ready="#token", expects=["401"])
    expect(page.get_by_label("Token", exact=True)).to_be_focused()
    expect(page.locator("#board")).to_be_hidden()
    page.keyboard.type("wrong")
    page.keyboard.press("Enter")
    expect(page.locator("#token-wrong")).to_have_text("The server did not accept this token.")
    page.get_by_label("Token", exact=True).fill("s3cret")
    page.get_by_role("button", name="Go on").click()
    expect(page.locator("#board")).to_be_visible()
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#try-result .big")).to_have_text("12.3")
    assert page.evaluate("Object.values(sessionStorage)") == ["s3cret"]
    assert page.evaluate("localStorage.length") == 0
    page.reload()
    expect(page.locator("#board")).to_be_visible()
    assert "s3cret" not in str(script.requests)


def test_several_models(scripted, visit):
    other = "a b/ü"
    models = {"houses": houses(), other: houses(name=other, target="flow")}
    script = scripted(models, {"houses": state(), other: state(rows=9)})
    page = visit(script.address)
    expect(page.locator("h1:visible")).to_have_text("price")
    page.locator("#chooser").select_option(other)
    expect(page.locator("h1:visible")).to_have_text("flow")
    page.reload()
    expect(page.locator("h1:visible")).to_have_text("flow")
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#try-result .big")).to_have_text("12.3")
    assert len(script.asked("/models/a%20b%2F%C3%BC/predict?std")) == 1
    page.go_back()
    expect(page.locator("h1:visible")).to_have_text("price")


def test_keyboard(scripted, visit):
    script = scripted()
    page = visit(script.address)
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        name, outline = page.evaluate(
            """() => {
              const at = document.activeElement;
              return [at.id || at.textContent.trim(), getComputedStyle(at).outlineStyle];
            }"""
        )
        if name in reached or page.evaluate("document.activeElement === document.body"):
            break
        assert outline != "none", name
        reached.append(name)
    wanted = ["Skip to the content", "API", "pause", "The picture as numbers"]
    wanted += ["try-0", "try-1", "try-2", "Predict", "Use the newest row", "Clear"]
    assert reached[: len(wanted)] == wanted
    page.keyboard.press("Home")
    page.reload()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(scripted, visit, scheme):
    script = scripted()
    page = visit(script.address, color_scheme=scheme)
    script.send("refused", {"error": "No row.", "field": None})
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#try-result .big")).to_be_visible()
    page.locator("#columns > summary").click()
    page.hover("#picture", position={"x": 300, "y": 100})
    expect(page.locator("#refused-list")).to_be_visible()
    found = page.evaluate(LOW_CONTRAST)
    assert found["seen"] > 80
    assert found["low"] == []
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (max(map(int, re.findall(r"\d+", ground))) < 60) == (scheme == "dark")
    script.end_streams()
    expect(page.locator("#connection")).to_contain_text("Lost")
    assert page.evaluate(LOW_CONTRAST)["low"] == []


@pytest.mark.parametrize("case", [hostile, nothing_learned, lambda: (houses(), state())])
def test_a_phone_scrolls_down_only(scripted, visit, case):
    model, events = case()
    script = scripted({LONG: model, "b": model}, {LONG: events, "b": events})
    page = visit(script.address, width=360)
    if page.get_by_role("button", name="Predict").count():
        page.get_by_role("button", name="Predict").click()
        expect(page.locator("#try-result .big")).to_be_visible()
    assert not is_too_wide(page)
    assert page.locator("#picture svg, #start pre").first.bounding_box()["width"] <= 340


def test_less_motion(scripted, visit):
    script = scripted(token="x")  # while it is connecting
    moving = visit(script.address, ready="#token", expects=["401"])
    still = visit(script.address, ready="#token", reduced_motion="reduce")
    assert len(moving.evaluate("document.getAnimations()")) == 1
    assert still.evaluate("document.getAnimations()") == []
