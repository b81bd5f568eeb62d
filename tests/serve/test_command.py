"""``greville serve``: what it refuses before it starts."""

import pytest
from typer.testing import CliRunner

import greville
from greville.cli._app import app
from greville.serve import log_path


def said(*arguments):
    found = CliRunner().invoke(app, ["serve", *map(str, arguments)])
    assert found.exit_code == 2, found.output
    return found.output


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m.greville"


def test_addresses_of_others_need_a_token(path, tmp_path, monkeypatch):
    monkeypatch.delenv("GREVILLE_TOKEN", raising=False)
    for host in ("0.0.0.0", "192.0.2.1", "::", "example.com"):
        text = said(path, "--target", "y", "--host", host)
        assert f"--host {host}: others could use the server; pass --token-file" in text
    short = tmp_path / "token"
    short.write_text("short\n")
    assert "at least 16" in said(path, "--target", "y", "--token-file", short)
    monkeypatch.setenv("GREVILLE_TOKEN", "")
    assert "GREVILLE_TOKEN: a token is" in said(path, "--target", "y")
    assert not path.exists()
    assert not log_path(path).exists()


def test_what_is_missing_or_wrong(path, tmp_path):
    assert "pass --target" in said(path)
    assert "name a model file" in said()
    assert "pass the address of a server" in said("--follow", "m.greville")
    assert "no server answers there" in said("--follow", "http://127.0.0.1:1")
    assert "name none, and no --at" in said("--follow", "http://127.0.0.1:1", path)
    assert "there is no such file" in said("--read-only", path)
    assert "--keep soon: pass a time" in said(path, "--target", "y", "--keep", "soon")
    assert "--allow-origin foo: this is not an origin" in said(
        path, "--target", "y", "--allow-origin", "foo"
    )
    assert "--max-body 1TB: pass a size" in said(path, "--target", "y", "--max-body", "1TB")
    assert "two models would have the name 'm'" in said(path, tmp_path / "x" / "m.greville")
    assert list(tmp_path.iterdir()) == []


def test_settings_of_a_model_that_is_there(path):
    greville.save(greville.tables.TableModel("y", hidden=20), path)
    text = said(path, "--hidden", "30")
    assert "--hidden 30: " in text
    assert "was made with 20" in text
    assert "it learns 'y', not 'z'" in said(path, "--target", "z")


def test_a_port_that_is_taken(path):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as sock:
        port = sock.getsockname()[1]
        assert f"--port {port}: nothing can listen there" in said(
            path, "--target", "y", "--port", port
        )


def test_a_model_that_another_process_serves(path):
    with greville.persistence.locked(path):
        assert "another greville command is using it" in said(path, "--target", "y")
