"""``greville predict``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ._cluster import ClusterOptions, check_folder, cluster, cluster_bar, new_folder
from ._command import command
from ._errors import UserError
from ._files import check_writable, load_learned_model
from ._input_table import InputTable
from ._options import ReadingOptions, check_std_and_proba
from ._terminal import counted, part_of, printable_lines, say, say_examples, say_findings


@command
def predict(
    model: Path,
    data: list[str],
    *,
    output: str | None = None,
    std: bool = False,
    proba: bool = False,
    why: bool = False,
    as_name: str = "prediction",
    reading: ReadingOptions,
    on: ClusterOptions,
    quiet: bool = False,
) -> None:
    """Predict the target of every row, and keep all columns.

    With --on-error skip, rows that cannot be used are kept, with an empty prediction.

    Examples:

        greville predict model.greville new.csv -o predicted.csv

        greville predict model.greville new.parquet --std

        cat new.jsonl | greville predict model.greville - --proba -o out.jsonl

        greville predict model.greville 'new/*.parquet' --workers 4 -o out/

    Parameters
    ----------
    output : PATH
        A .csv, .tsv, .jsonl, .parquet or .arrow file; with --workers, a folder. Default: CSV to
        standard output.
    why
        Add the columns with the largest shares of each prediction.
    as_name : NAME
        The name of the column of predictions.
    """
    from ..tables import UnlearnedValues, with_predictions, written

    known = load_learned_model(model)
    check_std_and_proba(known, std, proba)
    if on.wanted:
        if why:
            raise UserError("--why: not on a cluster; leave --workers and --scheduler out.")
        folder = check_folder(output)
        table = InputTable.find(data, reading)
        with cluster(on) as client, new_folder(folder) as write:
            from ..dask.tables import Job

            job = Job(client, table.sources, table.how, table.troubles.skip)
            with cluster_bar(quiet, "predicting", job):
                found = job.predict(known, write, as_name, std=std, proba=proba)
        _say_predicted(found, found.troubles, found.unlearned, folder, quiet)
        return
    path = None if output is None else Path(output)
    if path is not None:
        check_writable(path)
    table, unlearned = InputTable.find(data, reading, output=path), UnlearnedValues()
    with (
        table.batches("predicting", quiet) as batches,
        written(path, printable_lines) as writer,
    ):
        for batch in batches:
            answers = known.answers(batch, std=std, proba=proba)
            unlearned.add(answers)
            writer.write(with_predictions(known, batch, answers, table.troubles, as_name, why=why))
    _say_predicted(table, table.troubles, unlearned, output, quiet)


def _say_predicted(rows: Any, troubles: Any, unlearned: Any, output: Any, quiet: bool) -> None:
    if quiet:
        return
    total = rows.rows + rows.left_out
    if troubles.count:
        say_examples(f"{part_of(troubles.count, total, 'row')} without a prediction", troubles)
    say_findings([*troubles.findings, *unlearned.findings()])
    if output is not None:
        say(f"{counted(total - troubles.count, 'row')} with a prediction: see {output}.")
