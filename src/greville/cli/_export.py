"""``greville export``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Any

from ._command import command
from ._files import check_writable
from ._terminal import UserError, say, show_json, with_options


class ExportFormat(StrEnum):
    """What a model can be written as."""

    onnx = "onnx"
    c = "c"
    js = "js"


@command
def export(
    model: Path,
    *,
    output: Path,
    format: ExportFormat | None = None,
    learn: bool = False,
    name: str = "model",
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Write a model as ONNX, C or JavaScript.

    What is written predicts as the model does, and needs nothing of greville.

    Examples:

        greville export model.greville -o model.onnx

        greville export model.greville -o model.c

        greville export model.greville -o model.js

    Parameters
    ----------
    format
        Default: by the ending of the output's name.
    learn
        C that also learns; for the solvers light, and opium with --epsilon.
    name : NAME
        What names in the C file begin with.
    """
    from ..export import OPSET, notes, to_c, to_js, to_onnx
    from ..persistence import load

    check_writable(output)
    if not model.exists():
        raise UserError(f"{model}: there is no such file.")
    ending = output.suffix.lower()[1:]
    kind = format or ("js" if ending == "mjs" else ending)
    if kind not in list(ExportFormat):
        raise UserError(f"{output}: end its name in .onnx, .c or .js, or pass --format.")
    if learn and kind != "c":
        raise UserError("--learn: only a C file can learn; pass --format c.")
    loaded: Any = load(model)
    try:
        if kind == "onnx":
            to_onnx(loaded, output)
        elif kind == "js":
            to_js(loaded, output)
        else:
            to_c(loaded, output, name=name, learn=learn)
        remarks = notes(loaded)
    except ValueError as error:
        raise UserError(f"{model}: {with_options(error).removeprefix('model: ')}") from error
    except ModuleNotFoundError as missing:
        raise UserError(
            f"--format onnx needs {missing.name}; install it with: pip install 'greville[onnx]'"
        ) from missing
    size, opset = output.stat().st_size, OPSET if kind == "onnx" else None
    if as_json:
        show_json(
            {"file": str(output), "format": kind, "bytes": size, "opset": opset, "notes": remarks}
        )
    elif not quiet:
        with_what = "" if opset is None else f", opset {opset}"
        say(f"{output} has the model: {size:,} bytes{with_what}.")
        for remark in remarks:
            say(f"Note: {remark}.")
