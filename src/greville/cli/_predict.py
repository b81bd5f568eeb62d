"""``greville predict``."""

from __future__ import annotations

from pathlib import Path

from ._command import command
from ._files import InputTable, check_writable, load_table_model
from ._options import ReadingOptions, check_std_and_proba
from ._terminal import counted, part_of, printable_lines, say, say_examples, say_findings


@command
def predict(
    model: Path,
    data: list[str],
    *,
    output: Path | None = None,
    std: bool = False,
    proba: bool = False,
    why: bool = False,
    as_name: str = "prediction",
    reading: ReadingOptions,
    quiet: bool = False,
) -> None:
    """Predict the target of every row, and keep all columns.

    With --on-error skip, rows that cannot be used are kept, with an empty prediction.

    Examples:

        greville predict model.greville new.csv -o predicted.csv

        greville predict model.greville new.parquet --std

        cat new.jsonl | greville predict model.greville - --proba -o out.jsonl

    Parameters
    ----------
    output : PATH
        A .csv, .tsv, .jsonl, .parquet or .arrow file. Default: CSV to standard output.
    why
        Add the columns with the largest shares of each prediction.
    as_name : NAME
        The name of the column of predictions.
    """
    from ..tables import UnlearnedValues, with_predictions, written

    known = load_table_model(model, learned=True)
    check_std_and_proba(known, std, proba)
    if output is not None:
        check_writable(output)
    table, unlearned = InputTable.find(data, reading, output=output), UnlearnedValues()
    with (
        table.batches("predicting", quiet) as batches,
        written(output, printable_lines) as writer,
    ):
        for batch in batches:
            answers = known.answers(batch, std=std, proba=proba)
            unlearned.add(answers)
            writer.write(with_predictions(known, batch, answers, table.troubles, as_name, why=why))
    if quiet:
        return
    total, troubles = table.rows + table.left_out, table.troubles
    if troubles.count:
        say_examples(f"{part_of(troubles.count, total, 'row')} without a prediction", troubles)
    say_findings([*troubles.findings, *unlearned.findings()])
    if output is not None:
        say(f"{counted(total - troubles.count, 'row')} with a prediction: see {output}.")
