"""Exported models, compiled or interpreted by others."""

import json
import shutil

import numpy as np
import pytest

from greville.export import to_c, to_js, to_onnx

from .. import children

_MAIN = """
#include <stdio.h>
int main(void) {{
    static double x[{n}], y[{k}], t[{k}];
    while (fread(x, 8, {n}, stdin) == {n}) {{
        double place = model_predict({row}, y);
        fwrite(y, 8, {k}, stdout);
        fwrite(&place, 8, 1, stdout);
        if ({learns} && fread(t, 8, {k}, stdin) == {k}) {{ {learn} }}
    }}
    return 0;
}}
"""


def run_onnx(model, inputs, **options):
    """The outputs of an ONNX model for arrays by the names of inputs."""
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    one = runtime.SessionOptions()
    one.intra_op_num_threads = 1
    proto = to_onnx(model, **options).SerializeToString()
    session = runtime.InferenceSession(proto, one, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def run_c(model, X, n_outputs, Y=None, *, row="x", before="", folder):
    """Outputs and places of classes for rows; each row is learned after that, if there is a Y."""
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler, cc")
    names = {"n": X.shape[1], "k": n_outputs, "row": row, "learns": int(Y is not None)}
    main = _MAIN.format(learn="" if Y is None else f"model_learn({row}, t);", **names)
    (folder / "m.c").write_text(to_c(model, learn=Y is not None) + before + main)
    strict = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Wno-unused", "-Werror"]
    children.run(["cc", *strict, "-o", folder / "m", folder / "m.c", "-lm"])
    both = np.ascontiguousarray(X if Y is None else np.hstack([X, Y]), float).tobytes()
    done = children.run([folder / "m"], input=both, capture_output=True)
    found = np.frombuffer(done.stdout).reshape(len(X), n_outputs + 1)
    return found[:, :-1], found[:, -1].astype(int)


def run_js(model, rows, folder):
    """What the JavaScript module answers for rows."""
    if shutil.which("node") is None:
        pytest.skip("there is no node")
    (folder / "model.mjs").write_text(to_js(model), encoding="utf-8")
    (folder / "rows.json").write_text(json.dumps(rows))
    (folder / "run.mjs").write_text(
        'import {predict} from "./model.mjs"; import fs from "fs";'
        'const rows = JSON.parse(fs.readFileSync(new URL("rows.json", import.meta.url)));'
        "console.log(JSON.stringify(rows.map(row => predict(row))));"
    )
    done = children.run(["node", folder / "run.mjs"], capture_output=True, text=True)
    return json.loads(done.stdout)
