"""Who may use a server: tokens, the names that it is called by, and pages from elsewhere."""

import pytest

pytest.importorskip("fastapi", reason="install greville[serve] to test the server")

from greville.serve import ServerAddress

TOKEN = "geheim-and-long-enough"
FRIEND = "https://friend.example"


@pytest.fixture(scope="module")
def closed(start_application):
    """A server with a token, that pages of a friend may use."""
    return start_application(address=ServerAddress(token=TOKEN, origins=(FRIEND + "/",)))


def test_only_the_token_opens_a_server_that_has_one(closed):
    for word in ("Bearer", "bearer", "BEARER "):
        assert closed.get("/model", headers={"Authorization": f"{word} {TOKEN}"})[0] == 200
    wrong = ("", "Bearer", "Bearer x", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x")
    for value in (*wrong, f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN.upper()}", f"Bearer {TOKEN} x"):
        status, answer = closed.get("/model", headers={"Authorization": value})
        assert (status, set(answer)) == (401, {"error", "field"})
        assert closed.headers["WWW-Authenticate"] == "Bearer"
    assert closed.post("/learn", {"a": 1, "y": 1})[0] == 401


def test_only_the_page_and_the_health_need_no_token(closed):
    for path in ("/", "/docs", "/openapi.json", "/health", "/ready", "/page/page.js"):
        assert closed.get(path)[0] == 200
    paths = ["/model", "/model/file", "/metrics", "/events", "/models", "/other"]
    paths += ["//", "/docs/", "/health/x", "/page", "/page/%2e%2e/model", "/page/a/b", "/Health"]
    for path in [*paths, "/models/health", "/models/a/health"]:
        assert closed.get(path)[0] == 401


def test_a_server_without_a_token_answers_to_names_of_this_machine_alone(shared, closed):
    """A page that has its own name lead here does not know the token, if there is one."""
    for host in ("localhost", "LocalHost:8000", "127.0.0.1:1", "[::1]", "[::1]:8000"):
        assert shared.get("/model", headers={"Host": host})[0] == 200
    foreign = ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "[::2]", "::1"]
    foreign += ["localhost:x", "[::1", "localhost@evil.example", "evil.example/localhost", ""]
    for host in foreign:
        assert shared.get("/model", headers={"Host": host})[0] == 400
    headers = {"Host": "any.example", "Authorization": f"Bearer {TOKEN}"}
    assert closed.get("/model", headers=headers)[0] == 200


def test_pages_of_others_are_refused(shared, closed):
    here = {"Host": "localhost:8000", "Authorization": f"Bearer {TOKEN}"}
    own = {**here, "Origin": "http://localhost:8000"}
    assert shared.get("/health", headers=own)[0] == 200
    assert "Access-Control-Allow-Origin" not in shared.headers
    others = ["null", "", "http://evil.example", "http://localhost:8001", "http://localhost"]
    others += [f"{FRIEND}.evil", "http://localhost:8000/", "http://user@localhost:8000", "file://"]
    for server in (shared, closed):
        for origin in others:
            headers = {**here, "Origin": origin}
            assert server.get("/health", headers=headers)[0] == 403
            headers["Access-Control-Request-Method"] = "POST"
            assert server.ask("OPTIONS", "/learn", headers=headers)[0] in (400, 403)
            assert "Access-Control-Allow-Origin" not in server.headers


def test_pages_that_are_allowed_need_the_token_too(closed):
    here = {"Host": "localhost:8000", "Origin": FRIEND}
    asking = {**here, "Access-Control-Request-Method": "POST"}
    assert closed.ask("OPTIONS", "/learn", headers=asking)[0] == 200
    allowed = closed.headers["Access-Control-Allow-Headers"].lower().split(", ")
    assert {"authorization", "content-type", "idempotency-key"} <= set(allowed)
    for token, status in ((TOKEN, 200), ("x", 401)):
        headers = {**here, "Authorization": f"Bearer {token}"}
        assert closed.get("/model", headers=headers)[0] == status
        assert closed.headers["Access-Control-Allow-Origin"] == FRIEND
        assert closed.headers["Vary"] == "Origin"
        assert "Access-Control-Allow-Credentials" not in closed.headers
