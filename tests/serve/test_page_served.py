"""The page of ``greville serve`` itself: what a reader sees while rows come."""
# ruff: noqa: F811, since fixtures are imported

import signal
import socket

import pytest

from .browsing import browser, expect, scripted, visit  # noqa: F401

pytestmark = pytest.mark.full

CITIES = ("Bonn", "Oslo", "Rome")


def rows(n):
    """Rows whose target depends on all columns."""
    found = []
    for i in range(n):
        area, city, garden = 50 + i * 7 % 90, CITIES[i % 3], i % 2 == 0
        price = 3.0 * area + 40 * (i % 3) + 25 * garden
        found.append({"area": area, "city": city, "garden": garden, "price": price})
    return found


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


@pytest.mark.posix("SIGKILL")
def test_from_the_first_row_to_a_restart(serve, visit, tmp_path):
    server = serve(tmp_path / "houses.greville", "--target", "price", port=free_port())
    page = visit(server.url, expects=["ERR_", "503"])  # none, or one that starts
    expect(page.locator("#start-curl")).to_contain_text('"price":')
    assert server.post("/learn", rows(300))[1]["learned"] == 300
    expect(page.locator(".tile .value").nth(2)).to_have_text("300")
    expect(page.locator("#picture .line-now")).to_be_visible()
    expect(page.locator("#lead")).to_have_text("A number, from 3 columns: area, city, garden")

    page.get_by_role("button", name="Use the newest row").click()
    expect(page.get_by_label("area")).to_have_value("73")
    page.get_by_role("button", name="Predict").click()
    expect(page.locator("#try-result")).to_contain_text("90 % interval")
    predicted = float(page.locator("#try-result .big").inner_text())
    wanted = rows(300)[-1]
    assert abs(predicted - wanted["price"]) < 30

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
    expect(page.locator(".tile .value").nth(2)).to_have_text("301")


@pytest.mark.posix("access rights")
def test_classes_and_a_token(serve, visit, tmp_path):
    secret = tmp_path / "token"
    secret.write_text("s3cret-and-long-enough\n")
    secret.chmod(0o600)
    file = tmp_path / "flowers.greville"
    server = serve(file, "--target", "city", "--token-file", secret)
    headers = {"Authorization": "Bearer s3cret-and-long-enough"}
    assert server.post("/learn", rows(300), headers=headers)[0] == 200
    page = visit(server.url, ready="#token", expects=["401", "422"])
    page.keyboard.type("s3cret-and-long-enough")
    page.keyboard.press("Enter")
    expect(page.locator("#lead")).to_contain_text("One of 3 classes (Bonn, Oslo, Rome), from 3")
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
    expect(page.locator(".tile .value").nth(2)).to_have_text("0")
    page.locator("#chooser").select_option("b c")
    expect(page.locator(".tile .value").nth(2)).to_have_text("50")
