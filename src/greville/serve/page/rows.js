// The last rows: what was predicted, and what came.

import {
  NONE,
  count,
  digitsFor,
  drawn,
  find,
  make,
  number,
  plain,
  shortened,
  shown,
  timeElement,
} from "./elements.js";

const VALUES_SHOWN = 3;

const COLUMNS = {
  numbers: ["Row", "Time", "Prediction", "90 % interval", "Outcome", "Error", "Values"],
  labels: ["Row", "Time", "Prediction", "Outcome", "Right?", "Values"],
};

/** The interval as a bar, the prediction as a tick and the outcome as a dot, at the edge if far out. */
function intervalPicture({ prediction, interval, target }) {
  const [low, high] = interval;
  if (!(high > low)) return null;
  const at = (value) => Math.min(Math.max(24 + (48 * (value - low)) / (high - low), 4), 92);
  const svg = drawn("svg", {
    class: "interval",
    viewBox: "0 0 96 16",
    width: 84,
    height: 14,
    "aria-hidden": "true",
  });
  svg.append(
    drawn("path", { class: "rail", d: "M2 8H94" }),
    drawn("path", { class: "range", d: "M24 8H72" }),
    drawn("path", { class: "middle", d: `M${at(prediction).toFixed(1)} 3V13` }),
  );
  if (typeof target === "number") {
    const inside = target >= low && target <= high;
    svg.append(
      drawn("circle", { class: inside ? "inside" : "outside", cx: at(target).toFixed(1), cy: 8, r: 3.5 }),
    );
  }
  return svg;
}

/** Values by name; all of them when it is opened. */
function valuesCell(values) {
  const entries = Object.entries(values ?? {});
  if (!entries.length) return NONE;
  const pair = ([name, value], most) =>
    make(
      "span",
      { class: "pair" },
      make("span", { class: "name" }, shortened(name, most)),
      " ",
      shortened(shown(value), most),
    );
  const pairs = (some, most) => some.flatMap((entry) => [pair(entry, most), " "]);
  const first = make("span", { class: "pairs" }, pairs(entries.slice(0, VALUES_SHOWN), 24));
  const cut =
    entries.length > VALUES_SHOWN ||
    entries.some(([name, value]) => name.length > 24 || plain(value).length > 24);
  if (!cut) return first;
  const rest = entries.length - VALUES_SHOWN;
  const more = make("span", { class: "rest" }, rest > 0 ? `${count(rest)} more` : "in full");
  const details = make("details", {}, make("summary", {}, first, more));
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1)
      details.append(make("div", { class: "pairs all" }, pairs(entries, 2000)));
  });
  return details;
}

/** What came; of a row without an id no outcome is expected. */
function outcomeOf({ id, target }, show) {
  if (target !== null && target !== undefined) return show(target);
  return id === null || id === undefined ? NONE : make("span", { class: "muted" }, "not yet");
}

function numberCells(entry) {
  const { prediction, interval, target } = entry;
  const missed = Math.abs(prediction - target);
  const has = {
    interval: Array.isArray(interval),
    error: typeof prediction === "number" && typeof target === "number",
  };
  // By the interval where there is one, so that neighbouring rows have as many digits.
  const digits = digitsFor(
    [prediction, target, ...(interval ?? [])],
    has.interval ? (interval[1] - interval[0]) / 10 : missed,
  );
  const show = (value) => (typeof value === "number" ? number(value, digits) : plain(value));
  const outside = has.interval && has.error && (target < interval[0] || target > interval[1]);
  return [
    show(prediction),
    has.interval
      ? make(
          "span",
          { class: "interval-cell" },
          make("span", {}, `${show(interval[0])} to ${show(interval[1])}`),
          intervalPicture(entry),
        )
      : NONE,
    outcomeOf(entry, show),
    has.error
      ? make(
          "span",
          { class: "missed" },
          number(missed),
          outside ? make("span", { class: "tag bad" }, "outside") : null,
        )
      : NONE,
  ];
}

function labelCells(entry) {
  const { prediction, target } = entry;
  const known = target !== null && target !== undefined && prediction !== null;
  const tag = () =>
    prediction === target
      ? make("span", { class: "tag good" }, "right")
      : make("span", { class: "tag bad" }, "wrong");
  return [plain(prediction), outcomeOf(entry, plain), known ? tag() : NONE];
}

export class Rows {
  constructor() {
    this.box = find("rows");
    this.made = new WeakMap(); // an entry's row, so that what the reader has opened stays open
    this.kind = null;
  }

  show(entries, labels) {
    if (!entries.length) {
      this.kind = null;
      this.box.replaceChildren(make("p", { class: "muted" }, "No predictions yet."));
      return;
    }
    const kind = labels ? "labels" : "numbers";
    if (this.kind !== kind) this.start(kind);
    this.table.classList.toggle("without-intervals", !entries.some((entry) => entry.interval));
    const rows = entries.map((entry) => this.rowOf(entry));
    // Rows that stay are not moved: focus, selections and open details are kept.
    const wanted = new Set(rows);
    for (const row of [...this.body.children]) if (!wanted.has(row)) row.remove();
    rows.forEach((row, i) => {
      if (this.body.children[i] !== row) this.body.insertBefore(row, this.body.children[i] ?? null);
    });
  }

  start(kind) {
    this.kind = kind;
    this.made = new WeakMap();
    this.body = make("tbody", { role: "rowgroup" });
    const names = COLUMNS[kind].map((name) => make("th", { scope: "col", role: "columnheader" }, name));
    // Roles are said because on a phone the rows are no table for the layout.
    this.table = make(
      "table",
      { class: `rows ${kind}`, role: "table" },
      make("caption", { class: "unseen" }, "The last rows, newest first"),
      make("thead", { role: "rowgroup" }, make("tr", { role: "row" }, names)),
      this.body,
    );
    this.box.replaceChildren(this.table);
  }

  rowOf(entry) {
    const known = this.made.get(entry);
    if (known && known.target === entry.target) return known.row;
    const id =
      entry.id === null || entry.id === undefined
        ? null
        : make("span", { class: "id" }, `id ${shortened(plain(entry.id), 40)}`);
    const cells = [
      make("span", {}, typeof entry.row === "number" ? count(entry.row) : NONE, id),
      timeElement(entry.at),
      ...(this.kind === "labels" ? labelCells(entry) : numberCells(entry)),
      valuesCell(entry.values),
    ];
    const row = make(
      "tr",
      { role: "row" },
      cells.map((cell, i) => {
        const name = COLUMNS[this.kind][i];
        return make(
          "td",
          { role: "cell", "data-label": name, class: name === "Values" ? "values" : null },
          cell,
        );
      }),
    );
    this.made.set(entry, { row, target: entry.target });
    return row;
  }
}
