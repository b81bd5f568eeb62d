"""``greville export``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from ._errors import UserError, reported
from ._files import check_writable
from ._options import JsonOption, Model, QuietOption
from ._terminal import say, show_json


class ExportFormat(StrEnum):
    """What a model can be written as."""

    onnx = "onnx"
    c = "c"
    js = "js"


_ENDINGS = {".onnx": ExportFormat.onnx, ".c": ExportFormat.c, ".js": ExportFormat.js}
_ENDINGS[".mjs"] = ExportFormat.js


@reported
def export(
    model: Model,
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write.")],
    *,
    format: Annotated[
        ExportFormat | None,
        typer.Option("--format", help="Default: by the ending of the output's name."),
    ] = None,
    learn: Annotated[
        bool,
        typer.Option(
            "--learn", help="C that also learns; for the solvers light, and opium with --epsilon."
        ),
    ] = False,
    name: Annotated[
        str, typer.Option("--name", help="What names in the C file begin with.")
    ] = "model",
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write a model as ONNX, C or JavaScript.

    What is written predicts as the model does, and needs nothing of greville.

    Examples:

        greville export model.greville -o model.onnx

        greville export model.greville -o model.c

        greville export model.greville -o model.js
    """
    from ..export import OPSET, notes, to_c, to_js, to_onnx
    from ..persistence import load

    check_writable(output)
    if not model.exists():
        raise UserError(f"{model}: there is no such file.")
    kind = format or _ENDINGS.get(output.suffix.lower())
    if kind is None:
        raise UserError(f"{output}: end its name in .onnx, .c or .js, or pass --format.")
    if learn and kind != ExportFormat.c:
        raise UserError("--learn: only a C file can learn; pass --format c.")
    loaded: Any = load(model)
    try:
        if kind == ExportFormat.onnx:
            to_onnx(loaded, output)
        elif kind == ExportFormat.js:
            to_js(loaded, output)
        else:
            to_c(loaded, output, name=name, learn=learn)
        remarks = notes(loaded)
    except ValueError as error:
        message = str(error).removeprefix("model: ").replace("learn=True", "--learn")
        raise UserError(f"{model}: {message.replace('name=', '--name ')}") from error
    except ModuleNotFoundError as missing:
        raise UserError(
            f"--format onnx needs {missing.name}; install it with: pip install 'greville[onnx]'"
        ) from missing
    size = output.stat().st_size
    if as_json:
        opset = OPSET if kind == ExportFormat.onnx else None
        show_json(
            {"file": str(output), "format": kind, "bytes": size, "opset": opset, "notes": remarks}
        )
    elif not quiet:
        with_what = f", opset {OPSET}" if kind == ExportFormat.onnx else ""
        say(f"{output} has the model: {size:,} bytes{with_what}.")
        for remark in remarks:
            say(f"Note: {remark}.")
