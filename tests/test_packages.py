"""Packages use only what others export."""

import sys

import pytest

import greville

from . import children, private_names


def test_public_names_are_listed_and_found():
    names = [name for name in dir(greville) if not name.startswith("__")]
    assert {"ELMRegressor", "TableClassifier", "TableRegressor", "load", "tables"} <= set(names)
    assert not {"Any", "annotations", "import_module"} & set(names)
    for name in names:
        assert getattr(greville, name) is not None


def test_an_import_of_the_package_imports_nothing_large():
    code = (
        "import greville, sys\n"
        "assert not {'numpy', 'scipy', 'sklearn', 'pyarrow'} & set(sys.modules)\n"
        "assert greville.tables.__name__ == 'greville.tables'\n"
        "assert 'pyarrow' not in sys.modules\n"
    )
    children.run([sys.executable, "-c", code])


@pytest.mark.full
def test_a_cluster_is_imported_only_where_it_is_used():
    code = (
        "import sys, numpy as np, pyarrow as pa\n"
        "from greville import ELMRegressor, tables, cli\n"
        "import greville.cli._app\n"
        "X = np.arange(60.0).reshape(20, 3)\n"
        "ELMRegressor(5).fit(X, X[:, 0]).predict(X)\n"
        "tables.TableModel('y').learn(pa.table({'x': X[:, 0], 'y': X[:, 1]})).settle()\n"
        "assert not {'dask', 'distributed', 'fsspec', 'tornado'} & set(sys.modules)\n"
    )
    children.run([sys.executable, "-c", code])


def test_a_short_command_imports_nothing_large_that_it_does_not_use(tmp_path):
    (tmp_path / "t.csv").write_text("x,y\n" + "".join(f"{i},{i % 7}.5\n" for i in range(100)))
    code = (
        "import sys\n"
        "from greville import cli\n"
        "sys.argv = ['greville', 'train', 't.csv', '--target', 'y']\n"
        "try:\n"
        "    cli.main()\n"
        "except SystemExit as ended:\n"
        "    assert not ended.code\n"
        "heavy = {'pandas', 'scipy.stats', 'scipy.signal', 'scipy.optimize', 'sklearn.metrics'}\n"
        "heavy |= {'numba', 'dask', 'distributed', 'fsspec', 'matplotlib', 'torch', 'rich'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
        "import os, scipy, sklearn.utils.fixes\n"
        "assert int(os.environ['OPENBLAS_THREAD_TIMEOUT']) < 26\n"  # threads sleep soon
        "assert scipy.stats.norm.cdf(0) == 0.5\n"  # it is there when it is asked for
        "assert sklearn.utils.fixes.scipy.stats.mode([1, 1, 2]).mode == 1\n"
    )
    children.run([sys.executable, "-c", code], cwd=tmp_path)


def test_uses_of_private_names_are_found(tmp_path):
    """`make check` looks for them in the package."""
    source = tmp_path / "thing"
    for name, text in {
        "one/__init__.py": "from ._inside import Public",
        "one/_inside.py": "class Public:\n    def _hidden(self): ...\n\ndef _helper(): ...",
        "two.py": "from .one import Public\nfrom .one._inside import Public\nPublic()._hidden()",
        "three.py": "from thing.one import _helper\nclass Own:\n    def _hidden(self): ...\n"
        "Own()._hidden()",
    }.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text)
    assert private_names.violations(source) == [
        "three.py:1: imports thing.one._helper",
        "two.py:2: imports thing.one._inside.Public",
        "two.py:3: uses _hidden of one, three",
    ]
