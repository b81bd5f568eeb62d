"""The page of a model in a browser, against scripted answers."""
# ruff: noqa: F811, since fixtures are imported

import re

import pytest

from . import _fake
from ._fake import entry, houses, nothing_learned, state, tick
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
    assert tile(page, "Error now") == ("1.235", "mean absolute error, last 1,000 rows")
    assert tile(page, "Error since the start") == ("1.4", "mean absolute error, 1,203 rows")
    assert tile(page, "Rows learned") == ("1,203", "813 a second")
    assert tile(page, "Predictions") == ("5,000", "90 a second")
    assert tile(page, "Drift alarms") == ("2", "last at row 900")
    assert tile(page, "Waiting for targets")[0] == "3"
    facts = {"Solver": "opium", "Regularisation ε": "0.01235", "Forgetting α": "none"}
    facts |= {"Hidden units": "100", "Memory": "1 MiB", "Learning": "on", "Inputs": "12"}
    for name, value in facts.items():
        expect(fact(page, name)).to_have_text(value)
    expect(page.locator("#connection")).to_have_text("Live")
    expect(page).to_have_title("price – greville")


def test_last_rows(scripted, visit):
    script = scripted()
    page = visit(script.address)
    row, _, prediction, interval, outcome, error, values = cells(page)
    assert row.split() == ["1,203", "id", "17"]
    assert (prediction, interval, outcome, error) == ("11.9", "11.2 to 12.6", "not yet", "–")
    assert values.split() == ["area", "80", "city", "Oslo"]
    assert cells(page, 1)[4:6] == ["12.4", "0.5"]
    assert cells(page, 2)[5].split() == ["2.1", "outside"]
    expect(page.get_by_role("columnheader", name="90 % interval")).to_be_visible()
    script.states["houses"] = state(last=[entry(1, interval=None, std=None)])
    page.reload()
    expect(page.get_by_role("columnheader", name="Prediction")).to_be_visible()
    expect(page.get_by_role("columnheader", name="90 % interval")).to_be_hidden()


def test_one_row(scripted, visit):
    error = {"name": "mean absolute error", "now": 2.0, "since_start": 2.0, "n": 1}
    history = [{"row": 1, "now": 2.0, "since_start": 2.0}]
    first = state(rows=1, error=error, history=history, alarms=[], last=[entry(1)])
    page = visit(scripted(states={"houses": first}).address)
    shown = page.locator("#picture .axes text").all_text_contents()
    at = shown.index("rows learned")
    assert shown[at - 2 : at] == ["0", "1"]
    assert tile(page, "Error now") == ("2", "mean absolute error, last row")


def test_picture(scripted, visit):
    script = scripted()
    page = visit(script.address)
    for line in ("now", "all"):
        path = page.locator(f"#picture .line-{line}").get_attribute("d")
        assert len(re.findall("[ML]", path)) == 12
        heights = [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", path)]
        assert heights == sorted(heights)  # the error falls
    marks = page.locator("#picture .alarm-line")
    assert marks.count() == 2
    xs = [float(mark.get_attribute("d")[1:].split()[0]) for mark in marks.all()]
    ticks = page.locator("#picture .axes text")
    assert {"200", "400", "rows learned", "mean absolute error"} <= set(ticks.all_text_contents())
    right = page.locator("#picture .end-now").get_attribute("cx")
    path = page.locator("#picture .line-now").get_attribute("d")
    left = float(path[1:].split()[0])
    wanted = [left + (row - 100) / 1100 * (float(right) - left) for row in (640, 900)]
    assert xs == pytest.approx(wanted, abs=0.2)
    said = page.locator("#picture desc").text_content()
    assert "from 3.2 to 1.367" in said
    assert "2 drift alarms" in said
    assert "row 640" in page.locator("#alarms").inner_text()
    page.get_by_text("The picture as numbers").click()
    expect(page.locator(".points tbody tr")).to_have_count(12)


def test_picture_says_that_errors_are_beyond_it(scripted, visit):
    history = [{"row": i, "now": 1e9 if i == 1 else 1.0, "since_start": 2.0} for i in range(1, 99)]
    script = scripted(states={"houses": state(history=history)})
    page = visit(script.address)
    expect(page.locator("#picture-note")).to_contain_text("Errors up to 1 × 10⁹ are beyond")


def test_recent_errors_are_never_beyond_the_picture(scripted, visit):
    now = [1.0] * 95 + [50.0] * 5
    history = [{"row": i, "now": x, "since_start": 2.0} for i, x in enumerate(now, 1)]
    page = visit(scripted(states={"houses": state(history=history)}).address)
    expect(page.locator("#picture-note")).to_be_hidden()
    assert page.locator("#picture .end-now").count() == 1


def test_rows_that_were_left_out_are_asked_for(scripted, visit):
    script = scripted()
    page = visit(script.address)
    answered = [entry(1500, id=5), entry(None, id=5, target=None), entry(None, id=6, target=None)]
    error = state()["error"] | {"n": 1500}
    history = [{"row": row, "now": 1.0, "since_start": 1.0} for row in range(10, 1501, 10)]
    script.states["houses"] = state(last=answered, error=error, history=history)
    script.send("tick", tick(error=error, point=history[-1]))
    expect(page.locator("#rows tbody tr")).to_have_count(2)
    assert cells(page)[0].split() == ["1,500", "id", "5"]
    assert cells(page, 1)[4] == "not yet"
    path = page.locator("#picture .line-now").get_attribute("d")
    assert len(re.findall("[ML]", path)) == 150


def test_events_change_the_page(scripted, visit):
    script = scripted()
    page = visit(script.address)
    script.models["houses"] = houses(rows=1300, epsilon=0.5)
    alarms = [*state()["alarms"], {"row": 1290, "at": _fake.AT}]
    script.send("alarm", alarms[-1])
    expect(page.locator("#picture .alarm-line")).to_have_count(3)
    expect(page.locator("#said")).to_have_text("Drift alarm at row 1,290.")
    script.send("tick", tick(rows=1300, rate=0.25, alarms=alarms))
    expect(page.locator(".tile .value").nth(2)).to_have_text("1,300")
    assert tile(page, "Rows learned")[1] == "0.25 a second"
    path = page.locator("#picture .line-now").get_attribute("d")
    assert len(re.findall("[ML]", path)) == 13
    script.send("prediction", entry(1301, target=None, id=99, prediction=7.0))
    expect(page.locator("#rows tbody tr")).to_have_count(4)
    assert cells(page)[4] == "not yet"
    script.send("outcome", entry(1301, target=8.0, id=99, prediction=7.0))
    expect(page.locator("#rows tbody tr").first.locator("td").nth(4)).to_have_text("8")
    assert page.locator("#rows tbody tr").count() == 4
    script.send("refused", {"error": "Column 'area' is infinite.", "field": "area"})
    expect(page.locator("#refused-list")).to_have_text("Column 'area' is infinite.")


def test_only_the_last_rows_are_kept_and_pause_holds_them(scripted, visit):
    script = scripted()
    page = visit(script.address)
    for row in range(40):
        script.send("outcome", entry(2000 + row))
    expect(page.locator("#rows tbody tr")).to_have_count(20)
    expect(page.locator("#rows tbody tr").first).to_contain_text("2,039")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#connection")).to_have_text("Paused")
    script.send("outcome", entry(3000))
    page.wait_for_timeout(400)
    expect(page.locator("#rows tbody tr").first).to_contain_text("2,039")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#rows tbody tr").first).to_contain_text("3,000")


def test_try_a_row(scripted, visit):
    script = scripted()
    page = visit(script.address)
    page.get_by_label("area").fill(" 80.5 ")
    page.get_by_label("garden").select_option("true")
    options = page.locator("#try datalist option")
    assert [option.get_attribute("value") for option in options.all()] == ["Bonn", "Oslo"]
    page.keyboard.press("Tab")
    page.get_by_label("area").press("Enter")
    expect(page.locator("#try-result .big")).to_have_text("12.3")
    expect(page.locator("#try-result")).to_contain_text("90 % interval: 11.64 to 12.96")
    assert script.asked("/predict?std") == [{"area": 80.5, "city": None, "garden": True}]
    page.get_by_role("button", name="Use the newest row").click()
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#try-result .changed")).to_be_hidden()
    assert script.asked("/predict?std")[1] == {"area": 80, "city": "Oslo", "garden": None}


def test_a_row_that_is_refused(scripted, visit):
    script = scripted()
    page = visit(script.address, expects=["422"])
    script.status = 422
    script.prediction = {"error": "Column 'area' has 'wide', no number.", "field": "area"}
    page.get_by_label("area").fill("wide")
    page.get_by_role("button", name="Predict").click()
    expect(page.get_by_label("area")).to_be_focused()
    expect(page.get_by_label("area")).to_have_attribute("aria-invalid", "true")
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
    labels = {"prediction": "class 1", "std": None, "interval": None}
    last = [entry(2, target="class 2", **labels), entry(1, target="class 1", **labels)]
    script = scripted({"m": model}, {"m": state(error=error, last=last)})
    page = visit(script.address)
    expect(page.locator("#lead")).to_contain_text("One of 1,000 classes (class 0, class 1")
    assert tile(page, "Error now")[0] == "4.12 %"
    assert cells(page)[2:5] == ["class 1", "class 2", "wrong"]
    assert cells(page, 1)[4] == "right"
    assert page.locator("#try .fields input").count() == 50
    page.get_by_role("button", name="Show 50 more").click()
    assert page.locator("#try .fields input").count() == 100
    expect(page.get_by_label("c50 number")).to_be_focused()
    page.get_by_label("Find one of 2,500 columns").fill("c2499")
    page.get_by_label("c2499").fill("7")
    page.get_by_label("Find one of 2,500 columns").fill("c1")
    share = 1 / 2000
    script.prediction = {"prediction": "class 3", "proba": dict.fromkeys(classes, share)}
    script.prediction["proba"]["class 3"] = 0.5005
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#try-result .big")).to_have_text("class 3")
    expect(page.locator("#try-result tr").first).to_have_text(re.compile(r"class 3\s*50.1 %"))
    assert page.locator("#try-result tr").count() == 8
    page.get_by_text("992 other classes, together 49.6 %").click()
    expect(page.locator("#try-result tr")).to_have_count(1000)
    (row,) = script.asked("/predict?proba")
    assert len(row) == 2500
    assert row["c2499"] == 7


def test_nothing_learned_yet(scripted, visit):
    model, events = nothing_learned()
    model["target"] = "l'angle"
    script = scripted({"m": model}, {"m": events})
    page = visit(script.address)
    command = page.locator("#start-curl code").inner_text()
    assert f"curl '{script.address}/learn'" in command
    assert r""""l'\''angle":""" in command
    expect(page.locator("#error")).to_be_hidden()
    assert tile(page, "Error now")[0] == "–"
    expect(page.locator("#try-form")).to_contain_text("after the first row")
    script.models["m"], script.states["m"] = houses(), state()
    script.send("tick", tick())
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
    script = scripted()
    page = visit(script.address)
    code = """async (xs) => {
      const { number } = await import("/page/elements.js");
      return xs.map((x) => number(x));
    }"""
    assert page.evaluate(code, list(wanted)) == list(wanted.values())
    assert page.evaluate(code, [None, "x"]) == ["–", "–"]


def test_points_are_thinned_and_unlearned_rows_leave(scripted, visit):
    page = visit(scripted().address)
    code = """async () => {
      const { Seen } = await import("/page/seen.js");
      const seen = new Seen();
      for (let row = 1; row <= 5000; row++) seen.addPoint({row, now: 1, since_start: 1});
      const many = seen.history.map((point) => point.row);
      seen.addPoint({row: 10, now: 2, since_start: 2});
      return [many, seen.history.map((point) => point.row)];
    }"""
    many, after = page.evaluate(code)
    assert 200 < len(many) <= 480
    assert (many[0], many[-1]) == (1, 5000)
    assert many == sorted(set(many))
    assert after == [row for row in many if row < 10] + [10]
