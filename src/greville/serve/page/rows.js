// The last rows: what was predicted, and what came.

import { NONE, count, find, make, number, plain, redraw, shortened, shown, time } from "./elements.js";

const COLUMNS = ["Row", "Time", "Prediction", "Outcome", "Error", "Values"];

/** What came; of a row without an id no outcome is expected. */
function outcome({ id, target }) {
  if (target !== null && target !== undefined) return shown(target);
  return id === null || id === undefined ? NONE : make("span", { class: "muted" }, "not yet");
}

function missed({ prediction, target }, isOfLabels) {
  if (target === null || target === undefined || prediction === null) return NONE;
  if (!isOfLabels) return number(Math.abs(prediction - target));
  const right = String(prediction) === String(target);
  return make("span", { class: right ? "good" : "bad" }, right ? "right" : "wrong");
}

const valuesOf = ({ values }) =>
  Object.entries(values ?? {}).flatMap(([name, value]) => [
    make(
      "span",
      { class: "pair" },
      make("span", { class: "name" }, shortened(name, 24)),
      ` ${shortened(shown(value), 24)}`,
    ),
    " ",
  ]);

function rowOf(entry, isOfLabels) {
  const id = entry.id === null ? null : make("span", { class: "muted" }, ` id ${plain(entry.id)}`);
  const cells = [
    [entry.row === null ? NONE : count(entry.row), id],
    [time(entry.at)],
    [shown(entry.prediction)],
    [outcome(entry)],
    [missed(entry, isOfLabels)],
    [valuesOf(entry)],
  ];
  return make(
    "tr",
    {},
    cells.map((cell, i) => make("td", { "data-label": COLUMNS[i] }, cell)),
  );
}

/** Draw the last rows of a state. */
export function drawRows({ last }, isOfLabels) {
  redraw(find("rows"), last, () => {
    if (!last.length) return [make("p", { class: "muted" }, "No row has come since the server was started.")];
    const heads = COLUMNS.map((name) => make("th", { scope: "col" }, name));
    const body = last.map((entry) => rowOf(entry, isOfLabels));
    return [make("table", { class: "rows" }, make("thead", {}, make("tr", {}, heads)), make("tbody", {}, body))];
  });
}
