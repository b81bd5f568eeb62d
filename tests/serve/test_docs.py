"""What docs/serve.md shows is run, from top to bottom, against the servers that it starts."""

import configparser
import json
import os
import re
import shlex
import shutil
import signal
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

import greville.serve  # noqa: F401 - so that children need not import it
from greville.cli._app import app

from .. import children
from ..runner import run
from ..test_docs import run_line

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs/serve.md"

# A block of code, and what is shown after it, indented by four spaces.
BLOCKS = re.compile(r"^```(sh|python)\n(.*?)^```\n(?:\n((?:    [^\n]*\n)+))?", re.S | re.M)

START = 30  # seconds; for a server that ends instead

needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed here")


@contextmanager
def serving(words, folder):
    """`greville serve` in a child, without the seconds that imports take; its port."""
    arguments = words[1:]
    if "--port" in arguments:
        at = arguments.index("--port")
        del arguments[at : at + 2]
    said = folder / f"said-{len(os.listdir(folder))}"
    said.touch()

    def work():
        with said.open("w") as file:
            os.dup2(file.fileno(), 2)
        sys.stderr = os.fdopen(2, "w", buffering=1)
        app([*arguments, "--port", "0"], standalone_mode=True)

    server = children.fork(work)
    try:
        until = time.monotonic() + START
        while not (found := re.search(r"http://127\.0\.0\.1:(\d+)", said.read_text())):
            assert time.monotonic() < until, f"{words} did not start: {said.read_text()}"
            time.sleep(0.01)
        yield found[1]
    finally:
        os.kill(server, signal.SIGTERM)  # which it may have had already: it is still a child
        code = children.exit_code(server)
    assert code == 0, said.read_text()


def same(shown, got):
    """Equal, but for the last digits of numbers, which depend on the machine; "..." is anything."""
    if isinstance(shown, dict) and isinstance(got, dict):
        return list(shown) == list(got) and all(same(shown[name], got[name]) for name in shown)
    if isinstance(shown, list) and isinstance(got, list):
        return len(shown) == len(got) and all(map(same, shown, got))
    if isinstance(shown, float) and isinstance(got, float):
        return got == pytest.approx(shown, rel=1e-3, abs=1e-3)
    return shown in (got, "...")


def parsed(line):
    try:
        return json.loads(line)
    except ValueError:
        return line


class Reader:
    """Does what a reader of the page does."""

    def __init__(self, folder, stack):
        self.folder, self.stack, self.ports = folder, stack, {}
        self.outputs = folder / "outputs"
        self.outputs.mkdir()

    def follow(self, language, code, shown):
        if language == "python":
            got = self.run([sys.executable, "-c", self.placed(code)])
        else:
            got = "".join(self.line(line) for line in code.replace("\\\n", " ").splitlines())
        if shown:
            lines = [line.strip() for line in shown.splitlines()]
            found = [line for line in got.splitlines() if line]
            assert len(found) == len(lines), (code, got)
            for line, text in zip(lines, found, strict=True):
                assert same(parsed(line), parsed(text)), f"{code}\nshown {line}\ngot   {text}"

    def line(self, line):
        if not line.strip() or line.startswith("pip "):
            return ""
        words = shlex.split(line, comments=True)
        if words[:2] == ["greville", "serve"]:
            port = words[words.index("--port") + 1] if "--port" in words else "8000"
            assert port not in self.ports, f"{line}: there is a server on that port already"
            words = [self.placed(word) for word in words]  # --follow has an address
            self.ports[port] = self.stack.enter_context(serving(words, self.folder))
            return ""
        if words[0] == "greville":
            run_line(line, self.outputs)
            return ""
        line = re.sub(r"^curl ", "curl --silent --show-error ", line)
        return self.run(["sh", "-euc", self.placed(line)]) + "\n"

    def placed(self, code):
        """With the ports that the servers really have."""
        return re.sub(r"127\.0\.0\.1:(\d+)", lambda m: f"127.0.0.1:{self.ports[m[1]]}", code)

    def run(self, command):
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "GREVILLE_URL": ""}
        environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        if self.ports:
            environment["GREVILLE_URL"] = f"http://127.0.0.1:{self.ports['8000']}"
        done = children.run(
            command, cwd=self.folder, capture_output=True, text=True, check=False, env=environment
        )
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout


@pytest.mark.full
@pytest.mark.posix("a POSIX shell")
@needs_curl
def test_the_page_shows_what_happens(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    blocks = BLOCKS.findall(PAGE.read_text())
    assert len(blocks) >= 10
    with ExitStack() as stack:
        reader = Reader(tmp_path, stack)
        for language, code, shown in blocks:
            reader.follow(language, code, shown)


def options_of(words):
    return [word.partition("=")[0] for word in words if word.startswith("--")]


@pytest.fixture(scope="module")
def known_options():
    return set(re.findall(r"--[a-z][a-z-]*", run("serve", "--help")[0]))


def test_all_options_on_the_page_exist(known_options):
    text = PAGE.read_text()
    named = [options_of(shlex.split(line)) for line in re.findall(r"^greville serve.*", text, re.M)]
    named.append(re.findall(r"`(--[a-z-]+)", text))
    others = {"--json", "--workers"}  # curl's, and the one that there is not
    assert {name for names in named for name in names} - others <= known_options


def test_the_limits_are_those_of_the_server():
    from greville.serve import Limits

    table = re.search(r"## Limits\n(.*?)\n\n[^|]", PAGE.read_text(), re.DOTALL)[1]
    rows = [row.split(" | ")[1] for row in table.strip().splitlines()[2:]]
    units = {"MiB": 1 << 20, "KiB": 1 << 10, "s": 1}
    shown = []
    for text in rows:
        number, _, unit = text.replace(",", "").partition(" ")
        shown.append(int(number) * units.get(unit, 1))
    limits = Limits()
    names = "body", "rows", "columns", "waiting", "connections", "seconds"
    assert shown == [getattr(limits, name) for name in names]


def test_the_dockerfile(known_options):
    text = (ROOT / "examples/serve/Dockerfile").read_text().replace("\\\n", " ")
    lines = [line.split(None, 1) for line in text.splitlines() if line and line[0] != "#"]
    steps = {}
    for name, rest in lines:
        steps.setdefault(name, []).append(rest)
    (entry,), (command,) = steps["ENTRYPOINT"], steps["CMD"]
    words = json.loads(entry) + json.loads(command)  # lists: a shell would keep the signal
    assert words[:2] == ["greville", "serve"]
    assert {"--target", "--token-file", "--host"} <= set(options_of(words)) <= known_options
    assert steps["STOPSIGNAL"] == ["SIGTERM"]
    assert steps["USER"] == ["greville"]
    health = json.loads(steps["HEALTHCHECK"][0].partition("CMD ")[2])
    compile(health[-1], "HEALTHCHECK", "exec")
    assert "/health" in health[-1]
    names = [name for name, _ in lines]
    assert names.index("USER") < names.index("ENTRYPOINT")
    assert steps["VOLUME"] == ["/data"]
    for sources in steps["COPY"]:
        for source in sources.split()[:-1]:
            assert (ROOT / source).exists(), source


def test_the_unit(known_options):
    unit = configparser.RawConfigParser(strict=False, delimiters="=")
    unit.optionxform = str
    unit.read(ROOT / "examples/serve/greville.service")
    service = unit["Service"]
    words = service["ExecStart"].split()
    assert words[1] == "serve"
    assert {"--target", "--token-file"} <= set(options_of(words)) <= known_options
    assert service["LoadCredential"].split(":")[0] == words[-1].rpartition("/")[2]
    assert service["WorkingDirectory"].endswith(f"/{service['StateDirectory']}")
    assert service["KillSignal"] == "SIGTERM"
    for name in ("DynamicUser", "NoNewPrivileges", "PrivateTmp"):
        assert service[name] == "yes"
    assert service["ProtectSystem"] == "strict"
    assert "MemoryDenyWriteExecute" not in service  # numba could not compile
