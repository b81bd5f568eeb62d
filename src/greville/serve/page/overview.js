// The numbers and texts of the page: title, tiles, what to do first, what was refused, the model.

import { bars, count, counted, find, listed, make, number, percent, plain } from "./elements.js";
import { redraw, shortened, time, write } from "./elements.js";

/** All of it. */
export function drawOverview(model, now, base) {
  drawTitle(model);
  drawTiles(now);
  drawStart(model, now, base);
  drawAlarms(now, model);
  find("refused").hidden = !now.refused;
  write(find("refused-count"), `${counted(now.refused, "request", "requests")} since the start; the last:`);
  redraw(find("refused-list"), now.refusals, () =>
    now.refusals.map((text) => make("li", {}, shortened(text, 400))),
  );
  drawFacts(model, now);
  drawImportance(model);
}

function drawTitle(model) {
  const names = (model.columns ?? []).map((column) => column.name);
  const classes = model.classes ?? [];
  const some = `${counted(classes.length, "class", "classes")} (${listed(classes, 6)})`;
  const what = { classification: `One of ${some}`, regression: "A number" }[model.task] ?? "Something";
  const from = `${counted(names.length, "column", "columns")}: ${listed(names, 6)}`;
  write(find("model-name"), shortened(plain(model.name), 200));
  write(find("target"), plain(model.target));
  write(find("lead"), `${what}, from ${names.length ? from : "columns that the first row names"}`);
}

function drawTiles({ error, alarms, ...now }) {
  const value = (x) => (error.name === "share wrong" ? percent(x) : number(x));
  const of = (n) => (error.n ? `${error.name}, ${counted(n, "row", "rows")}` : "after the first outcomes");
  const forgotten = now.forgotten ? `, ${count(now.forgotten)} given up` : "";
  const tiles = [
    ["Error now", value(error.now), of(Math.min(error.n, 1000))],
    ["Error since the start", value(error.since_start), of(error.n)],
    ["Rows learned", count(now.rows), `${count(now.learned)} since the start`],
    ["Predictions", count(now.predictions), "since the start"],
    ["Drift alarms", count(alarms.length), alarms.length ? `last at row ${count(alarms.at(-1).row)}` : "none"],
    ["Waiting for targets", count(now.waiting), `rows with an id${forgotten}`],
  ];
  redraw(find("tiles"), tiles, () =>
    tiles.map(([name, text, sub]) =>
      make(
        "div",
        { class: "tile" },
        make("dt", {}, name),
        make("dd", { class: "value" }, text),
        make("dd", { class: "sub" }, sub),
      ),
    ),
  );
}

function drawStart(model, now, base) {
  find("start").hidden = now.rows > 0;
  const names = (model.columns ?? []).slice(0, 3).map((column) => column.name);
  const inputs = (names.length ? names : ["x1", "x2"]).map((name, i) => [name, i + 1.5]);
  const row = JSON.stringify({ ...Object.fromEntries(inputs), [model.target]: 3.2 });
  const address = new URL(`${base}learn`, document.baseURI).href;
  write(find("start-curl"), `curl --json '${row.replaceAll("'", "'\\''")}' '${address}'`);
}

function drawAlarms({ alarms }, { most_changed: changed }) {
  const newest = alarms.slice(-5).reverse();
  find("alarm-legend").hidden = !alarms.length;
  const column = changed && `; since then ${shortened(plain(changed.column), 80)} changed most: predictions`;
  const since = changed ? `${column} moved by ${number(changed.before)} with it, now by ${number(changed.now)}` : "";
  redraw(find("alarms"), [...newest, since], () =>
    newest.map(({ row, at }, i) =>
      make("li", {}, `Drift alarm at row ${count(row)}, ${time(at)}${i ? "" : since}`),
    ),
  );
}

function drawFacts(model, now) {
  const { snapshot, leader } = model;
  const behind = `${counted(now.behind, "row", "rows")} behind ${leader?.url}`;
  const facts = [
    ["Solver", plain(model.solver)],
    ["Regularisation ε", number(model.epsilon)],
    ["Forgetting α", model.alpha === null ? "none" : plain(model.alpha)],
    ["Hidden units", count(model.units)],
    ["Inputs", count(model.inputs)],
    ["Columns", model.columns_may_still_change ? "may still change" : "final"],
    ["Position in the log", count(model.position)],
    ["Snapshot", snapshot ? `position ${count(snapshot.position)}, ${time(snapshot.at)}` : "none yet"],
    ["Learning", leader ? behind : model.read_only ? "off: read only" : "on"],
    ["greville", plain(model.version)],
  ];
  redraw(find("facts"), facts, () =>
    facts.map(([name, text]) => make("div", {}, make("dt", {}, name), make("dd", {}, text))),
  );
}

function drawImportance({ importance }) {
  const entries = Object.entries(importance);
  find("importance").hidden = !entries.length;
  const most = Math.max(...entries.map(([, value]) => value));
  redraw(find("importance-bars"), entries, () => [bars(entries.slice(0, 12), most, number)]);
}
