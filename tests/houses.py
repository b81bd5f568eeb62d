"""Tables for tests: houses and their prices, as Arrow tables, CSV, JSON lines and files."""

import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

from greville.tables import Reading, RowErrors, find_sources, read

CITIES = ["Bonn", "Kiel", "Ulm"]


def houses(n=300, seed=0):
    """Numbers with gaps, whole numbers, text, dates, true or false; the price is known of all."""
    rng = np.random.default_rng(seed)
    area, city, garden = rng.uniform(30, 200, n), rng.integers(0, 3, n), rng.integers(0, 2, n)
    price = 1000 * area * (1 + 0.3 * city) + 20_000 * garden
    area = [None if rng.random() < 0.05 else round(a, 3) for a in area]
    built = np.datetime64("1950-01-01") + rng.integers(0, 25_000, n)
    return pa.table(
        {
            "area": pa.array(area),
            "rooms": pa.array(rng.integers(1, 7, n)),
            "city": pa.array([CITIES[c] for c in city]),
            "built": pa.array(built),
            "garden": pa.array(garden.astype(bool)),
            "price": pa.array(price.round(2)),
        }
    )


def as_rows(table):
    return [
        {k: v.isoformat() if hasattr(v, "isoformat") else v for k, v in row.items()}
        for row in table.to_pylist()
    ]


def jsonl(table):
    return "".join(json.dumps(row) + "\n" for row in as_rows(table)).encode()


def csv_bytes(table, **options):
    out = io.BytesIO()
    csv.write_csv(table, out, csv.WriteOptions(quoting_style="needed", **options))
    return out.getvalue()


def write(table, name="houses.csv"):
    if name.endswith(".parquet"):
        parquet.write_table(table, name)
    else:
        Path(name).write_bytes(jsonl(table) if "json" in name else csv_bytes(table))
    return name


def table_of(name):
    return csv.read_csv(name)


def rows_of(path, how=None, row_errors=None):
    return list(read(find_sources([str(path)]), how or Reading(), row_errors or RowErrors()))


def shown_numbers(batch):
    """The numbers that messages have for the rows of a batch: those of lines in text."""
    return [int(batch.where(i).rsplit(" ", 1)[1].replace(",", "")) for i in range(len(batch))]


def number_rows(n=60, names=("a", "b", "y")):
    """CSV of numbers."""
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(n, len(names)))
    lines = [",".join(names), *(",".join(f"{v:.4f}" for v in row) for row in rows)]
    return "\n".join(lines) + "\n"
