"""Functions as commands: options get their help from docstrings, errors are sentences."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand

from . import _options
from ._process import import_packages
from ._terminal import reported

# Options that are not called as their parameters, or that have a short form too.
_FLAGS = {
    "as_json": ("--json",),
    "as_name": ("--as",),
    "column": ("--column", "-c"),
    "output": ("--output", "-o"),
    "page": ("--report",),
    "quiet": ("--quiet", "-q"),
    "target": ("--target", "-t"),
}

_SECTION = "Parameters\n----------\n"
_PARAMETER = re.compile(r"^(\w+)(?: : (.+))?\n((?: {4}.+\n?)+)", re.MULTILINE)


class Command(TyperCommand):
    """A command whose help has words such as PATH and N, and no types of Python."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        for parameter in self.params:
            if parameter.param_type_name == "argument":
                # DATA, not DATA <list[str]>; older versions of typer do not ask.
                parameter.display_type_rich = lambda ctx: ""  # type: ignore[attr-defined]


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Register a function as a command.

    Keyword-only parameters are options, and the fields of parameters that are dataclasses; others
    are arguments. Their help is in the docstrings: of the function, of the dataclasses, and of the
    module of options. After the name of a parameter stands what its value is called, such as PATH.
    An annotation may have more settings of `typer.Option` in a dictionary.
    """
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    groups: dict[str, Any] = {
        p.name: p.annotation for p in parameters if is_dataclass(p.annotation)
    }
    bases = [base for group in groups.values() for base in reversed(group.__mro__)]
    texts = _documented(_options, *bases, function)
    expanded = [_with_help(each, texts) for p in parameters for each in _options_of(p)]

    @wraps(function)
    def run(**values: Any) -> None:
        with reported():
            import_packages()
            for name, group in groups.items():
                taken = {field.name: values.pop(field.name) for field in fields(group)}
                values[name] = group(**taken)
            function(**values)

    run.__doc__ = inspect.cleandoc(function.__doc__ or "").partition(_SECTION)[0]
    run.__signature__ = inspect.Signature(expanded)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in expanded}
    return run


def _options_of(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    """Return parameters for the fields of a dataclass; another parameter as it is."""
    if not is_dataclass(parameter.annotation):
        return [parameter]
    kinds = get_type_hints(parameter.annotation, include_extras=True)
    return [
        parameter.replace(name=field.name, default=field.default, annotation=kinds[field.name])
        for field in fields(parameter.annotation)
    ]


def _documented(*documented: Any) -> dict[str, tuple[str | None, str]]:
    """Return parameters' metavars and help texts; later docstrings override earlier ones."""
    described: dict[str, tuple[str | None, str]] = {}
    for each in documented:
        section = inspect.cleandoc(each.__doc__ or "").partition(_SECTION)[2]
        for name, metavar, text in _PARAMETER.findall(section):
            described[name] = metavar or None, " ".join(text.split())
    return described


def _with_help(
    parameter: inspect.Parameter, texts: dict[str, tuple[str | None, str]]
) -> inspect.Parameter:
    """The parameter with an annotation that typer understands."""
    annotation, name = parameter.annotation, parameter.name
    kind, more = annotation, {}
    if get_origin(annotation) is Annotated:
        kind, more = get_args(annotation)
    metavar, text = texts.get(name, (None, ""))
    info: Any
    if parameter.kind is not inspect.Parameter.KEYWORD_ONLY:
        info = typer.Argument(metavar=name.upper(), help=text, show_default=False, **more)
    else:
        switch = kind is bool and parameter.default is False
        flags = _FLAGS.get(name, (f"--{name.replace('_', '-')}",) if switch else ())
        shown = parameter.default is not None
        more = {"metavar": metavar, "show_default": shown, **more}
        info = typer.Option(*flags, help=text, **more)
    return parameter.replace(annotation=Annotated[kind, info])
