"""The page of a model in a browser, against scripted answers."""
# ruff: noqa: F811, since fixtures are imported

import re

import pytest

from ._fake import entry, houses, nothing_learned, state
from .browsing import LOW_CONTRAST, browser, expect, scripted, visit  # noqa: F401

pytestmark = pytest.mark.full

HOSTILE = "<img src=x onerror=alert(1)>"
LONG = "n" * 200


def tile(page, name):
    """A tile's value and what is below it."""
    found = page.locator(".tile", has=page.get_by_text(name, exact=True))
    return found.locator(".value").inner_text(), found.locator(".sub").inner_text()


def cells(page, row=0):
    return page.locator("#rows tbody tr").nth(row).locator("td").all_inner_texts()


def fact(page, name):
    return page.locator("#facts > div", has=page.get_by_text(name, exact=True)).locator("dd")


def test_says_what_is_predicted_and_how_well(scripted, visit):
    script = scripted()
    page = visit(script.address)
    expect(page.locator("h1:visible")).to_have_text("price")
    expect(page.locator("#lead")).to_have_text("A number, from 3 columns: area, city, garden")
    assert tile(page, "Error now") == ("1.235", "mean absolute error, 1,000 rows")
    assert tile(page, "Error since the start") == ("1.4", "mean absolute error, 1,203 rows")
    assert tile(page, "Rows learned") == ("1,203", "813 since the start")
    assert tile(page, "Predictions") == ("5,000", "since the start")
    assert tile(page, "Drift alarms") == ("2", "last at row 900")
    assert tile(page, "Waiting for targets")[0] == "3"
    facts = {"Solver": "opium", "Regularisation ε": "0.01235", "Forgetting α": "none"}
    facts |= {"Hidden units": "100", "Learning": "on", "Inputs": "12"}
    for name, value in facts.items():
        expect(fact(page, name)).to_have_text(value)
    expect(page.locator("#connection")).to_have_text("Live")
    expect(page).to_have_title("price – greville")
    expect(page.locator("#importance")).to_be_hidden()


def test_which_columns_matter_and_how_far_a_replica_is_behind(scripted, visit):
    model = houses(leader={"url": "http://leader:8000"}, read_only=True)
    script = scripted({"m": model}, {"m": state(behind=3)}, importance={"city": 2.5, "area": 0.5})
    page = visit(script.address)
    rows = page.locator("#importance tr")
    expect(rows).to_have_text([re.compile(r"city\s*2.5"), re.compile(r"area\s*0.5")])
    assert rows.first.locator("meter").get_attribute("value") == "2.5"
    expect(fact(page, "Learning")).to_have_text("3 rows behind http://leader:8000")


def test_the_picture_and_its_alarms(scripted, visit):
    page = visit(scripted().address)
    picture = page.locator("#picture svg")
    words = picture.locator("desc").text_content()
    assert "From row 100 to row 1,200 the mean absolute error of the last 1,000 rows" in words
    assert "went from 3.2 to 1.367. Since the start it is 1.567. 2 drift alarms." in words
    assert picture.locator(".alarm-line").count() == 2
    assert picture.locator(".line-now").get_attribute("d").count("L") == 11
    alarms = page.locator("#alarms li").all_inner_texts()
    assert [text.partition(",")[0] for text in alarms] == [
        "Drift alarm at row 900",
        "Drift alarm at row 640",
    ]


def test_first_errors_that_are_far_off_hide_nothing(scripted, visit):
    history = [{"row": 1, "now": 1e6, "since_start": 1e6}]
    history += [{"row": 10 * i, "now": 1.0, "since_start": 2.0} for i in range(1, 13)]
    page = visit(scripted(states={"houses": state(history=history)}).address)
    expect(page.locator("#picture-note")).to_contain_text("Errors up to 1,000,000 are beyond")


def test_last_rows_as_they_come(scripted, visit):
    script = scripted()
    page = visit(script.address)
    row, _, prediction, outcome, error, values = cells(page)
    assert row.split() == ["1,203", "id", "17"]
    assert (prediction, outcome, error) == ("11.9", "not yet", "–")
    assert values.split() == ["area", "80", "city", "Oslo"]
    assert cells(page, 1)[3:5] == ["12.4", "0.5"]
    script.send(state(rows=1300, last=[entry(1300), *state()["last"]]))
    expect(page.locator("#rows tbody tr").first).to_contain_text("1,300")
    assert tile(page, "Rows learned")[0] == "1,300"


def test_refused_requests_are_shown(scripted, visit):
    script = scripted()
    page = visit(script.address)
    expect(page.locator("#refused")).to_be_hidden()
    script.send(state(refused=2, refusals=["No row.", "No target."]))
    expect(page.locator("#refused-list")).to_have_text("No row.No target.")
    expect(page.locator("#refused-count")).to_contain_text("2 requests")


def test_try_a_row(scripted, visit):
    script = scripted()
    page = visit(script.address)
    page.get_by_label("area").fill(" 80.5 ")
    page.get_by_label("garden").select_option("true")
    options = page.get_by_label("city").locator("option")
    assert [option.get_attribute("value") for option in options.all()] == ["", "Bonn", "Oslo"]
    page.get_by_label("area").press("Enter")
    expect(page.locator("#try-result .big")).to_have_text("12.3")
    expect(page.locator("#try-result")).to_contain_text("90 % interval: 11.64 to 12.96")
    assert script.asked("/predict?std") == [{"area": 80.5, "city": None, "garden": True}]
    page.get_by_role("button", name="Use the newest row").click()
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#try-result .changed")).to_be_hidden()
    assert script.asked("/predict?std")[1] == {"area": 80, "city": "Oslo", "garden": None}
    page.get_by_label("area").fill("3")
    expect(page.locator("#try-result .changed")).to_be_visible()
    script.send(state(rows=1300))
    expect(page.locator(".tile .value").nth(2)).to_have_text("1,300")
    expect(page.get_by_label("area")).to_have_value("3")  # what was typed stays


def test_a_row_that_is_refused(scripted, visit):
    script = scripted()
    page = visit(script.address, expects=["422"])
    script.status = 422
    script.prediction = {"error": "Column 'area' has 'wide', no number.", "field": "area"}
    page.get_by_label("area").fill("wide")
    page.get_by_role("button", name="Predict").click()
    expect(page.get_by_label("area")).to_be_focused()
    expect(page.get_by_label("area")).to_have_attribute("aria-invalid", "")
    expect(page.locator("#try-0-wrong")).to_have_text("Column 'area' has 'wide', no number.")
    assert script.asked("/predict?std")[0]["area"] == "wide"
    page.get_by_label("area").fill("3")
    expect(page.locator("#try-0-wrong")).to_be_hidden()


def test_many_classes_and_columns(scripted, visit):
    classes = [f"class {i}" for i in range(1000)]
    columns = [{"name": f"c{i}", "what": "number"} for i in range(2500)]
    model = houses(task="classification", classes=classes, columns=columns)
    model |= {"says_std": False, "says_proba": True}
    error = {"name": "share wrong", "now": 0.0412, "since_start": 0.0675, "n": 1203}
    last = [entry(2, prediction="class 1", target="class 2")]
    last += [entry(1, prediction="class 1", target="class 1")]
    script = scripted({"m": model}, {"m": state(error=error, last=last)})
    page = visit(script.address)
    expect(page.locator("#lead")).to_contain_text("One of 1,000 classes (class 0, class 1")
    assert tile(page, "Error now")[0] == "4.12 %"
    assert [cells(page, k)[4] for k in (0, 1)] == ["wrong", "right"]
    page.get_by_label("c2499").fill("7")
    script.prediction = {"prediction": "class 3", "proba": dict.fromkeys(classes, 1 / 2000)}
    script.prediction["proba"]["class 3"] = 0.5005
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#try-result .big")).to_have_text("class 3")
    expect(page.locator("#try-result tr").first).to_have_text(re.compile(r"class 3\s*50.1 %"))
    expect(page.locator("#try-result")).to_contain_text("and 992 classes more")
    (row,) = script.asked("/predict?proba")
    assert (len(row), row["c2499"]) == (2500, 7)


def test_nothing_learned_yet(scripted, visit):
    model, first = nothing_learned()
    model["target"] = "l'angle"
    script = scripted({"m": model}, {"m": first})
    page = visit(script.address)
    command = page.locator("#start-curl").inner_text()
    assert f"'{script.address}/learn'" in command
    assert r"""l'\''angle":""" in command
    expect(page.locator("#error")).to_be_hidden()
    assert tile(page, "Error now")[0] == "–"
    expect(page.locator("#try-form")).to_contain_text("The first row names the columns.")
    script.models["m"], script.states["m"] = houses(), state()
    script.send(state())
    expect(page.locator("#start")).to_be_hidden()
    expect(page.get_by_label("area")).to_be_visible()


def test_numbers_as_text(scripted, visit):
    wanted = {
        0: "0",
        12.3456: "12.35",
        -0.00123456: "−0.001235",
        1234567: "1,235,000",
        1e-9: "1 × 10⁻⁹",
        -1.23456e300: "−1.235 × 10³⁰⁰",
        1e9: "1 × 10⁹",
    }
    page = visit(scripted().address)
    code = """async (xs) => {
      const { number } = await import("/page/elements.js");
      return xs.map((x) => number(x));
    }"""
    assert page.evaluate(code, list(wanted)) == list(wanted.values())
    assert page.evaluate(code, [None, "x"]) == ["–", "–"]


# How it behaves: hostile names, connections, tokens, keyboards, phones


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
    last = [entry(3, id=HOSTILE, prediction=1e-12, values=values)]
    error = state()["error"] | {"name": HOSTILE}
    return model, state(last=last, error=error, refused=1, refusals=[HOSTILE])


def test_hostile_names_are_text(scripted, visit):
    model, first = hostile()
    script = scripted({HOSTILE: model}, {HOSTILE: first})
    page = visit(script.address)
    expect(page.locator("#refused-list")).to_have_text(HOSTILE)
    expect(page.locator("h1:visible")).to_have_text(HOSTILE + LONG)
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
    page.evaluate(hide, True)
    page.wait_for_timeout(300)
    asked = len(script.requests)
    page.wait_for_timeout(2500)
    assert len(script.requests) == asked
    script.states["houses"] = state(rows=7777)
    page.evaluate(hide, False)
    expect(page.locator(".tile .value").nth(2)).to_have_text("7,777")
    expect(page.locator("#connection")).to_have_text("Live")


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
    page = visit(scripted().address)
    reached = []
    for _ in range(12):
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
    wanted = ["Skip to the content", "API", "try-0", "try-1", "try-2"]
    assert reached[: len(wanted)] == wanted
    assert reached[len(wanted) :][:3] == ["Predict", "try-newest", "try-clear"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(scripted, visit, scheme):
    script = scripted(states={"houses": state(refused=1, refusals=["No row."])})
    page = visit(script.address, color_scheme=scheme)
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#try-result .big")).to_be_visible()
    found = page.evaluate(LOW_CONTRAST)
    assert found["seen"] > 80
    assert found["low"] == []
    script.end_streams()
    expect(page.locator("#connection")).to_contain_text("Lost")
    assert page.evaluate(LOW_CONTRAST)["low"] == []


@pytest.mark.parametrize("case", [hostile, nothing_learned, lambda: (houses(), state())])
def test_a_phone_scrolls_down_only(scripted, visit, case):
    model, first = case()
    script = scripted({LONG: model, "b": model}, {LONG: first, "b": first})
    page = visit(script.address, width=360)
    assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert (
        page.locator("#picture svg:visible, #start pre:visible").first.bounding_box()["width"]
        <= 340
    )
