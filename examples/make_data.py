"""Writes the synthetic example data into this folder, the same every time.

python examples/make_data.py
"""

from __future__ import annotations

import csv
import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent


def houses(rng: np.random.Generator, n: int) -> list[dict[str, Any]]:
    """Numbers, text, dates, booleans, and missing values."""
    rows = []
    for _ in range(n):
        area, rooms = rng.uniform(30, 200), int(rng.integers(1, 7))
        city = str(rng.choice(["Bonn", "Kiel", "Ulm"], p=[0.5, 0.3, 0.2]))
        built = date(1950, 1, 1) + timedelta(days=int(rng.integers(0, 25_000)))
        garden = bool(rng.integers(2))
        worth = {"Bonn": 3200, "Kiel": 2400, "Ulm": 4100}[city] * area + 8000 * rooms
        worth += (built.year - 1950) * 900 + (30_000 + 200 * area) * garden
        rows.append(
            {
                "area": "" if rng.random() < 0.04 else round(area, 1),
                "rooms": rooms,
                "city": city,
                "built": built.isoformat(),
                "garden": str(garden).lower(),
                "price": round(worth * rng.lognormal(0, 0.06), -2),
            }
        )
    return rows


def machines(rng: np.random.Generator, n: int) -> list[dict[str, Any]]:
    """Three states of a machine, and the readings of noisy sensors."""
    rows = []
    for _ in range(n):
        state = str(rng.choice(["good", "worn", "broken"], p=[0.6, 0.3, 0.1]))
        wear = {"good": 0.2, "worn": 0.6, "broken": 0.95}[state] + 0.12 * rng.normal()
        load = rng.uniform(0.2, 1)
        rows.append(
            {
                "temperature": round(40 + 25 * wear * load + 2 * rng.normal(), 2),
                "vibration": round(0.5 + 3 * wear**2 * load + 0.15 * abs(rng.normal()), 3),
                "current": round(5 + 12 * load + 0.3 * rng.normal(), 2),
                "model": str(rng.choice(["A7", "B2"])),
                "state": state,
            }
        )
    return rows


def sensor(rng: np.random.Generator, n: int) -> list[dict[str, Any]]:
    """A sensor that depends on three others, and after 60 % of the lines in another way."""
    rows = []
    for i in range(n):
        a, b, c = rng.normal(size=3)
        flow = np.tanh(a) + 0.5 * b * c if i < 0.6 * n else np.tanh(a) - 0.5 * b * c + 0.3
        names = {"inlet": a, "outlet": b, "level": c, "flow": flow + 0.05 * rng.normal()}
        rows.append({name: round(float(value), 4) for name, value in names.items()})
    return rows


def passengers(rng: np.random.Generator, n: int) -> list[dict[str, Any]]:
    """Travellers of two airports in each month: they grow, and most come in summer."""
    rows = []
    levels = {"Bonn": 4.8, "Kiel": 6.5}
    for i in range(n):
        year, month = divmod(i, 12)
        season = -0.25 * np.cos(2 * np.pi * (month - 0.5) / 12) + 0.12 * (month == 11)
        for airport, level in levels.items():
            levels[airport] = level + 0.008 + 0.02 * rng.normal()
            travellers = np.exp(level + season + 0.01 * rng.normal())
            name = f"{1990 + year}-{month + 1:02}"
            rows.append({"month": name, "airport": airport, "passengers": round(travellers)})
    return rows


def _write_csv(name: str, rows: list[dict[str, Any]]) -> None:
    with (HERE / name).open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    rng = np.random.default_rng(1960)
    _write_csv("houses.csv", houses(rng, 800))
    _write_csv("more-houses.csv", houses(rng, 400))
    for_sale = houses(rng, 12)
    _write_csv("for-sale.csv", [{k: v for k, v in row.items() if k != "price"} for row in for_sale])
    _write_csv("machines.csv", machines(rng, 900))
    lines = [json.dumps(row) + "\n" for row in sensor(rng, 2500)]
    (HERE / "sensor.jsonl").write_text("".join(lines))
    _write_csv("passengers.csv", passengers(rng, 144))


if __name__ == "__main__":
    main()
