"""The page of the API in a browser, against a scripted description."""
# ruff: noqa: F811, since fixtures are imported

import pytest

from .browsing import LOW_CONTRAST, browser, expect, scripted, visit  # noqa: F401

pytestmark = pytest.mark.full


def test_endpoints(scripted, visit):
    script = scripted()
    page = visit(script.address, "/docs")
    expect(page.locator("h1:visible")).to_have_text("greville serve")
    assert page.locator("#contents-list li").count() == 3
    first = page.locator(".endpoint").first
    expect(first.locator("h2")).to_have_text("POST /predict")
    expect(first).to_contain_text("Also the standard deviation.")
    expect(first.locator("td").nth(1)).to_have_text("text or null")
    command = first.locator("pre").first.inner_text()
    assert f"curl '{script.address}/predict' \\\n" in command
    assert '-H "Authorization: Bearer $GREVILLE_TOKEN" \\\n' in command
    assert r"""--data-binary '{"city":"l'\''Aquila"}'""" in command
    assert [tag.inner_text() for tag in first.locator(".tag").all()] == ["200", "422"]
    assert '"prediction": 12.3' in first.inner_text()
    assert '"error": "text"' in first.inner_text()  # made from the schema
    path = page.locator(".endpoint").nth(1)
    assert f"curl '{script.address}/models/NAME/model'" in path.locator("pre").inner_text()
    assert "Authorization" not in page.locator(".endpoint").nth(2).inner_text()
    assert page.locator("img").count() == 0


def test_paths_for_several_models_are_shown_once(scripted, visit):
    page = visit(scripted().address, "/docs")
    expect(page.locator(".endpoint").first).to_contain_text("/models/{name}/predict")
    assert page.locator("#endpoints").inner_text().count("Predict rows") == 1


def test_contents_lead_to_endpoints(scripted, visit):
    script = scripted()
    page = visit(script.address, "/docs#endpoint-3")
    expect(page.locator("#endpoint-3")).to_be_in_viewport()
    page.locator("#contents-list a").first.focus()
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "endpoint-1"


def test_token(scripted, visit):
    script = scripted(token="s3cret")
    page = visit(script.address, "/docs", ready="#token", expects=["401"])
    page.keyboard.type("s3cret")
    page.keyboard.press("Enter")
    expect(page.locator(".endpoint")).to_have_count(3)


def test_says_what_went_wrong(scripted, visit):
    script = scripted()
    script.openapi = "nothing that can be shown"
    page = visit(script.address, "/docs", ready="#trouble")
    expect(page.locator("#trouble")).to_contain_text("could not be read")


def test_phone_and_contrast(scripted, visit):
    script = scripted()
    for scheme in ("light", "dark"):
        page = visit(script.address, "/docs", width=360, color_scheme=scheme)
        assert page.evaluate(LOW_CONTRAST)["low"] == []
        assert not page.evaluate("document.documentElement.scrollWidth > innerWidth")
