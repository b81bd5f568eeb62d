"""The report of the experiments: files, and the page in a browser."""

import http.server
import json
import re
import shutil
import threading
from contextlib import contextmanager
from functools import partial

import pytest

pytest.importorskip("matplotlib")

from greville import paper
from greville.paper import Table

from .. import children

full = pytest.mark.full


@pytest.fixture(scope="module")
def exact(documented):
    """A result without figures, which need not be run again."""
    return next(result for result in documented[0] if result.name == "exactness")


@pytest.fixture(scope="module")
def report(results, tmp_path_factory):
    """A report with every kind of block, from small experiments."""
    folder = tmp_path_factory.mktemp("report")
    path = paper.write_report(
        results,
        folder,
        command="greville paper <&>",
        skipped={"mnist": "It is <not> there."},
    )
    return path.parent


@pytest.mark.parametrize("after", ["each result", "all results"])
def test_an_interrupt_while_writing_keeps_the_old_report(exact, tmp_path, after):
    path = paper.write_report([exact], tmp_path)
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}

    def interrupt(done):
        if after == "each result":
            raise KeyboardInterrupt

    @contextmanager
    def progress(what, total):
        yield interrupt
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        paper.write_report([exact], tmp_path, command="another", progress=progress)
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before
    assert path.exists()


@full
def test_the_report_shows_the_numbers(results, report):
    """Every cell of every table, in the order of the blocks."""
    page = (report / "report.html").read_text()
    cells = [re.sub("<.*?>", "", cell) for cell in re.findall(r"<td.*?>(.*?)</td>", page)]
    found = [
        cell.replace("`", "").replace("&", "&amp;")
        for result in results
        for block in result.blocks()
        if isinstance(block, Table)
        for row in block.rows
        for cell in row
    ]
    assert cells[: len(found)] == found
    facts = json.loads((report / "results.json").read_text())
    assert facts["experiments"] == {result.name: result.numbers for result in results}
    assert sorted(facts["files"]) == sorted(file.name for file in report.iterdir())


@full
def test_equal_results_give_equal_figures(results, tmp_path):
    for name in ("a", "b"):
        paper.write_report(results[1:2], tmp_path / name)
    for file in ("figure-2.svg", "figure-2.png"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


@full
def test_another_report_replaces_the_first(results, tmp_path):
    (tmp_path / "mine.txt").write_text("keep")
    paper.write_report(results[1:], tmp_path)
    paper.write_report(results[2:], tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"mine.txt", "report.html", "results.json"}


def test_files_of_another_origin_are_kept(exact, tmp_path):
    (tmp_path / "results.json").write_text('{"mine": 1}')
    with pytest.raises(OSError, match="not from a report"):
        paper.write_report([exact], tmp_path)
    assert (tmp_path / "results.json").read_text() == '{"mine": 1}'
    (tmp_path / "other" / "report.html").mkdir(parents=True)
    with pytest.raises(OSError, match="is a folder"):
        paper.write_report([exact], tmp_path / "other")
    assert [file.name for file in (tmp_path / "other").iterdir()] == ["report.html"]


@full
def test_the_report_needs_no_other_file(report):
    page = (report / "report.html").read_text()
    for link in re.findall(r'(?:src|href|srcset)="([^"]*)"', page):
        assert link.startswith(("#", "data:")), link
    assert "url(" not in page
    assert "@import" not in page
    assert "greville paper &lt;&amp;&gt;" in page
    assert "It is &lt;not&gt; there." in page
    for word in ("scikit-learn", "openblas", "numpy", "cpu"):
        assert word in page
    names = {file.name for file in report.iterdir()}
    assert {"report.html", "results.json", "figure-1.png", "figure-1.svg", "figure-2.svg"} <= names
    assert not any(name.startswith(".") for name in names)


CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)

# The page in frames as wide as a phone and as a desktop screen; what was found becomes text.
FRAMES = """<!doctype html><title>frames</title><body><script>
const found = [];
let left = 2;
for (const width of [390, 1200]) {
  const frame = document.createElement("iframe");
  frame.style.width = width + "px"; frame.style.height = "800px"; frame.style.border = 0;
  frame.onload = () => {
    const page = frame.contentDocument;
    const images = [...page.images];
    const broken = images.filter(image => !image.complete || !image.naturalWidth).length;
    found.push(`width ${width} images ${images.length} broken ${broken} ` +
              `over ${page.documentElement.scrollWidth - width} ` +
              `paper ${frame.contentWindow.getComputedStyle(page.body).backgroundColor}`);
    if (!--left) document.body.textContent = found.sort().join("\\n") + " end";
  };
  frame.src = "report.html";
  document.body.append(frame);
}
</script>"""


@pytest.fixture
def served(report):
    """The folder of the report on a server, and the paths requested from it."""
    asked = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            super().do_GET()

        def log_message(self, *args):
            pass

    (report / "frames.html").write_text(FRAMES)
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Handler, directory=str(report))
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    server.server_close()


@full
@pytest.mark.skipif(CHROMIUM is None, reason="install chromium to see the report in a browser")
@pytest.mark.parametrize("dark", [False, True])
def test_the_report_in_a_browser(served, tmp_path, dark):
    address, asked = served
    scheme = ["--blink-settings=preferredColorScheme=0"] if dark else []
    seen = children.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
            "--no-first-run", "--disable-background-networking", "--disable-component-update",
            "--disable-sync", "--enable-logging=stderr", f"--user-data-dir={tmp_path}",
            "--virtual-time-budget=20000", *scheme, "--dump-dom", f"{address}/frames.html",
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "CONSOLE" not in seen.stderr  # no errors, no warnings
    found = re.findall(
        r"width (\d+) images (\d+) broken (\d+) over (-?\d+) paper rgb\((\d+)", seen.stdout
    )
    assert [int(line[0]) for line in found] == [1200, 390]
    for _, images, broken, over, paper_red in found:
        assert (int(images), int(broken)) == (4, 0)
        assert int(over) <= 0  # no horizontal scrolling
        assert (int(paper_red) < 100) == dark
    assert {path for path in asked if path != "/favicon.ico"} == {"/frames.html", "/report.html"}
