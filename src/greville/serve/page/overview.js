// The numbers and texts of the page: title, tiles, what to do first, what was refused, the model.

import { hasToken } from "./client.js";
import {
  bytes,
  code,
  count,
  counted,
  curl,
  find,
  listed,
  make,
  number,
  percent,
  plain,
  rate,
  shortened,
  time,
  write,
} from "./elements.js";

const COLUMNS_LISTED = 200;

/** All of it, where something changed. */
export function drawOverview(seen) {
  drawTitle(seen.model);
  drawTiles(seen);
  drawStart(seen);
  drawRefused(seen);
  drawFacts(seen);
  drawColumns(seen.model);
}

function drawTitle(model) {
  const columns = (model.columns ?? []).map((column) => column.name);
  write(find("model-name"), shortened(plain(model.name), 200));
  write(find("target"), plain(model.target));
  find("target").classList.toggle("long", plain(model.target).length > 40);
  const from = columns.length
    ? `from ${counted(columns.length, "column", "columns")}: ${listed(columns, 6)}`
    : "its columns are known after the first row";
  const classes = model.classes ?? [];
  const what =
    model.task === "classification"
      ? `one of ${counted(classes.length, "class", "classes")} (${listed(classes, 6)}), `
      : model.task
        ? "a number, "
        : "";
  const text = what + from;
  write(find("lead"), text[0].toUpperCase() + text.slice(1));
}

function drawTiles({ now, alarms }) {
  const error = now.error ?? {};
  const share = error.name === "share wrong";
  const value = (x) => (share ? percent(x) : number(x));
  const lastAlarm = alarms.at(-1);
  const forgotten = now.forgotten ? `, ${count(now.forgotten)} given up` : "";
  const tiles = [
    [
      "Error now",
      value(error.now),
      error.n
        ? `${error.name}, ${error.n === 1 ? "last row" : `last ${count(Math.min(error.n, 1000))} rows`}`
        : "known after the first outcomes",
    ],
    [
      "Error since the start",
      value(error.since_start),
      error.n ? `${error.name}, ${counted(error.n, "row", "rows")}` : "known after the first outcomes",
    ],
    ["Rows learned", count(now.rows), `${rate(now.rate ?? 0)} a second`],
    ["Predictions", count(now.predictions), `${rate(now.prediction_rate ?? 0)} a second`],
    ["Drift alarms", count(alarms.length), lastAlarm ? `last at row ${count(lastAlarm.row)}` : "none so far"],
    ["Waiting for targets", count(now.waiting), `rows with an id${forgotten}`],
  ];
  const box = find("tiles");
  if (!box.childElementCount)
    box.append(
      ...tiles.map(([name]) =>
        make(
          "div",
          { class: "tile" },
          make("dt", {}, name),
          make("dd", { class: "value" }),
          make("dd", { class: "sub" }),
        ),
      ),
    );
  tiles.forEach(([, text, sub], i) => {
    const [, big, small] = box.children[i].children;
    write(big, text);
    write(small, sub);
  });
}

function drawStart({ model, now, base }) {
  find("start").hidden = now.rows > 0;
  if (now.rows > 0) return;
  find("start-read-only").hidden = !model.read_only;
  find("start-how").hidden = model.read_only;
  const names = (model.columns ?? []).slice(0, 3).map((column) => column.name);
  const inputs = names.length ? names : ["x1", "x2"];
  const row = { ...Object.fromEntries(inputs.map((name, i) => [name, i + 1.5])), [model.target]: 3.2 };
  const text = curl({ path: `${base}learn`, body: JSON.stringify(row), token: hasToken() });
  const box = find("start-curl");
  if (box.textContent.includes(text)) return;
  box.replaceChildren(code(text, "A command that learns one row"));
}

function drawRefused({ now, refused }) {
  find("refused").hidden = !now.refused && !refused.length;
  write(
    find("refused-count"),
    `${counted(now.refused ?? refused.length, "request", "requests")} since the server was started${refused.length ? "; the last:" : "."}`,
  );
  const texts = refused.map(({ error }) => plain(error));
  const list = find("refused-list");
  if (list.dataset.key === JSON.stringify(texts)) return;
  list.dataset.key = JSON.stringify(texts);
  list.replaceChildren(...texts.map((text) => make("li", {}, shortened(text, 400))));
}

function drawFacts({ model, now }) {
  const snapshot = model.snapshot;
  const facts = [
    ["Solver", plain(model.solver)],
    ["Regularisation ε", number(model.epsilon)],
    [
      "Forgetting α",
      model.alpha === null || model.alpha === undefined
        ? "none"
        : typeof model.alpha === "number"
          ? number(model.alpha, 6)
          : plain(model.alpha),
    ],
    ["Hidden units", count(model.units)],
    ["Inputs", count(model.inputs)],
    ["Memory", bytes(model.memory)],
    ["Columns", model.columns_may_still_change ? "may still change" : "final"],
    ["Rows without a target", count(model.rows_without_target)],
    ["Rows given up", count(now.forgotten)],
    ["Position in the log", count(model.position)],
    ["Snapshot", snapshot ? `position ${count(snapshot.position)}, ${time(snapshot.at)}` : "none yet"],
    ["Learning", model.read_only ? "off: read only" : "on"],
    ["Column of ids", plain(model.id)],
    ["Seed", plain(model.seed)],
    ["greville", plain(model.version)],
  ];
  const box = find("facts");
  if (!box.childElementCount)
    box.append(...facts.map(([name]) => make("div", {}, make("dt", {}, name), make("dd", {}))));
  facts.forEach(([, text], i) => write(box.children[i].lastChild, text));
}

/** The columns, while they are asked for. */
export function drawColumns(model) {
  const columns = model.columns ?? [];
  const details = find("columns");
  details.hidden = !columns.length;
  write(find("columns-summary"), counted(columns.length, "column", "columns"));
  const key = JSON.stringify(columns);
  if (!details.open || details.dataset.key === key) return;
  details.dataset.key = key;
  const body = columns
    .slice(0, COLUMNS_LISTED)
    .map(({ name, what }) => make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, plain(what))));
  find("columns-table").replaceChildren(
    make(
      "table",
      { class: "columns-table" },
      make("caption", { class: "unseen" }, "How each column is read"),
      make(
        "thead",
        {},
        make("tr", {}, make("th", { scope: "col" }, "Column"), make("th", { scope: "col" }, "Read as")),
      ),
      make("tbody", {}, body),
    ),
  );
  const rest = columns.length - COLUMNS_LISTED;
  if (rest > 0) find("columns-table").append(make("p", { class: "note" }, `and ${count(rest)} more`));
}
