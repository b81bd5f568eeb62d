"""Builds the source distribution and the wheel, and tests them: ``python -m tests.distribution``.

`make dist` runs it. dist/ then has both files, and only if all that is tested here holds.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from email.parser import BytesParser
from pathlib import Path

from . import children

ROOT = Path(__file__).parent.parent

LIMIT = 7200  # seconds, for one step; the whole suite takes most of them on a slow machine

# A quick part of the suite: the estimators and their contract with scikit-learn, files of earlier
# versions, and what reads the docs, the examples and the benchmarks.
QUICK = """
tests/test_packaging.py tests/test_packages.py tests/test_children.py tests/test_benchmarks.py
tests/test_docs.py::test_links_lead_somewhere tests/test_docs.py::test_every_lower_bound_is_tested
tests/elm/test_pipeline.py tests/elm/test_sklearn.py tests/persistence/test_versions.py
tests/serve/test_client.py
"""

# torch takes gigabytes; test-all has it too.
NOT_RESOLVED = {"torch", "test-all"}

# What the wheel has beside Python files
DATA = {
    "greville/py.typed",
    "greville/datasets/ECG.md",
    "greville/datasets/ecg.npz",
    "greville/paper/report.css",
}
PAGE = re.compile(r"greville/serve/page/\w+\.(css|html|js)")


def run(*command, **options):
    done = children.run([*map(str, command)], check=False, limit=LIMIT, **options)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} ended with {done.returncode}")


def say(text):
    print(f"- {text}", flush=True)


def when():
    """Seconds since 1970, for the times in the archives: those of the last commit."""
    command = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
    try:
        return children.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "1577836800"  # hatchling's own, 2020


def build(folder):
    """Both files; the wheel is made from the source distribution."""
    environment = {"SOURCE_DATE_EPOCH": when()} | os.environ
    command = (sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT)
    run(*command, env=environment, stdout=subprocess.DEVNULL)
    [sdist], [wheel] = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return sdist, wheel


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def check_reproducible(first, second):
    for one, other in zip(first, second, strict=True):
        if (one.name, digest(one)) != (other.name, digest(other)):
            sys.exit(f"{one.name}: two builds of the same files differ")


def check_wheel(wheel):
    """It has the package and nothing else, and a description that stands alone."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        [metadata] = [name for name in names if name.endswith(".dist-info/METADATA")]
        about = BytesParser().parsebytes(archive.read(metadata))
    source = ROOT / "src"
    python = {path.relative_to(source).as_posix() for path in source.rglob("*.py")}
    found = {name for name in names if ".dist-info/" not in name}
    others = found - python
    if python - found or DATA - others:
        sys.exit(f"{wheel.name} lacks {sorted((python - found) | (DATA - others))}")
    stray = {name for name in others - DATA if not PAGE.fullmatch(name)}
    if stray or "greville/serve/page/index.html" not in others:
        sys.exit(f"{wheel.name} has, beside the package: {sorted(stray)}")
    pages = {
        f"greville/serve/page/{each.name}" for each in (source / "greville/serve/page").iterdir()
    }
    if pages - others:
        sys.exit(f"{wheel.name} lacks {sorted(pages - others)}")
    if not any(name.endswith("licenses/LICENSE") for name in names):
        sys.exit(f"{wheel.name} has no licence")
    description = about.get_payload()
    if re.search(r"\]\((?!https?://)", description) or "# greville" not in description:
        sys.exit("the description has links that lead nowhere on an index")
    return about


def check_sdist(sdist):
    """It has every file that git has."""
    with tarfile.open(sdist) as archive:
        found = {name.partition("/")[2] for name in archive.getnames()}
    command = ["git", "-C", str(ROOT), "ls-files"]
    try:
        listed = children.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return  # not a clone
    missing = {name for name in listed.splitlines() if (ROOT / name).exists()} - found
    if missing:
        sys.exit(f"{sdist.name} lacks {sorted(missing)}")


def new_environment(folder):
    venv.create(folder, with_pip=True)
    return folder / ("Scripts" if os.name == "nt" else "bin") / "python"


def install(python, what, constraint, *options):
    command = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run(*command, "--constraint", constraint, *options, what)


def check_installed(wheel, constraint, folder):
    """The wheel by itself in a new environment, used from another folder; then with its command."""
    python = new_environment(folder / "environment")
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    smoke = shutil.copy(ROOT / "tests" / "smoke.py", elsewhere)
    say("the wheel by itself, in an environment of its own")
    install(python, wheel, constraint)
    run(python, "-m", "pip", "check", "--disable-pip-version-check")
    run(python, "-I", smoke, cwd=elsewhere)
    say("the wheel with its command: greville[cli]")
    install(python, f"{wheel}[cli]", constraint)
    run(python, "-I", smoke, "cli", cwd=elsewhere)
    return python


def check_extras(python, wheel, constraint, about):
    for extra in sorted(set(about.get_all("Provides-Extra")) - NOT_RESOLVED):
        say(f"greville[{extra}] can be installed")
        install(python, f"{wheel}[{extra}]", constraint, "--dry-run")


def check_sdist_tests(sdist, tests, folder):
    """Its own tests, with its own package, from where it was unpacked."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    [unpacked] = folder.iterdir()
    environment = os.environ | {"PYTHONPATH": str(unpacked / "src"), "OPENBLAS_NUM_THREADS": "1"}
    source = "import greville; print(greville.__file__)"
    found = children.run(
        [sys.executable, "-c", source],
        cwd=unpacked, env=environment, capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    if not Path(found).resolve().is_relative_to(unpacked.resolve()):
        sys.exit(f"the tests of the source distribution would test {found}")
    pytest = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--part", "quick")
    say("every test module of the quick part of the source distribution can be imported")
    run(
        *pytest, "--collect-only", "tests",
        cwd=unpacked, env=environment, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    say(f"tests of the source distribution: {' '.join(tests.split())}")
    chosen = [] if tests == "all" else tests.split()
    run(*pytest, "--numprocesses", "auto", *chosen, cwd=unpacked, env=environment)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--constraint", type=Path, default=ROOT / "constraints.txt")
    parser.add_argument("--tests", default=QUICK, help="of the source distribution; or: all")
    options = parser.parse_args()
    constraint = options.constraint.resolve()
    with tempfile.TemporaryDirectory(prefix="greville-dist-") as name:
        folder = Path(name)
        say("two builds, and the same bytes")
        built = build(folder / "first")
        check_reproducible(built, build(folder / "second"))
        sdist, wheel = built
        say("what is in them")
        run(sys.executable, "-m", "twine", "check", "--strict", sdist, wheel)
        about = check_wheel(wheel)
        check_sdist(sdist)
        python = check_installed(wheel, constraint, folder)
        check_extras(python, wheel, constraint, about)
        check_sdist_tests(sdist, options.tests, folder / "unpacked")
        shutil.rmtree(ROOT / "dist", ignore_errors=True)
        (ROOT / "dist").mkdir()
        for path in built:
            print(f"{digest(path)}  {shutil.copy(path, ROOT / 'dist')}")


if __name__ == "__main__":
    main()
