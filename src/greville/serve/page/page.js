// The page of a model: what it predicts, how well, and what is happening now.

import { Refused, askJson, events, hasToken } from "./client.js";
import { NONE, bytes, code, count, counted, curl, find, listed, make, number, percent, plain, rate, shortened, time, timeElement, write } from "./elements.js";
import { Picture } from "./picture.js";
import { Rows } from "./rows.js";
import { TryRow } from "./tryrow.js";

const LAST_ROWS = 20;
const MOST_POINTS = 480;
const REFUSALS_SHOWN = 3;
const COLUMNS_LISTED = 200;
const SILENCE = 20_000; // ms; the server says something every second
const BETWEEN_DRAWINGS = 250; // ms; more often than that nobody can read
const MODEL_AGE = 5_000; // ms
const WAITS = [1, 2, 4, 8, 15, 30]; // s

const fresh = () => ({ model: null, now: null, history: [], alarms: [], last: [], refused: [] });
let seen = fresh(); // what the server has said about the model that is shown
let following = null; // the AbortController of the connection in use
let paused = false;
let saidAlarmAt = 0;
let modelAskedAt = 0;

const picture = new Picture();
const rows = new Rows();
const tryRow = new TryRow(() => seen.last.find((entry) => entry.values)?.values ?? null);

const say = (text) => write(find("said"), text);

// Events

function take(event, data) {
  if (event === "state") {
    const { history = [], last = [], alarms = [], ...now } = data;
    Object.assign(seen, { now, history, alarms, last: withoutAnswered(last).slice(0, LAST_ROWS) });
  } else if (event === "tick") {
    const { point, alarms, ...now } = data;
    seen.now = now;
    if (alarms) seen.alarms = alarms;
    if (point) addPoint(point);
  } else if (event === "prediction") addRow(data);
  else if (event === "outcome") addOutcome(data);
  else if (event === "alarm") addAlarm(data);
  else if (event === "refused") seen.refused = [data, ...seen.refused].slice(0, REFUSALS_SHOWN);
  else return;
  draw();
}

const isKnown = (value) => value !== null && value !== undefined;

/** Rows, without predictions of those whose outcome is among them too. */
function withoutAnswered(entries) {
  const answered = new Set(entries.filter((entry) => isKnown(entry.target)).map((entry) => entry.id));
  return entries.filter((entry) => isKnown(entry.target) || !isKnown(entry.id) || !answered.has(entry.id));
}

function addPoint(point) {
  if (typeof point.row !== "number" || point.row <= 0) return;
  // A row that was unlearned makes the last points those of rows that are no more.
  const kept = seen.history.filter((each) => each.row < point.row);
  const thin = kept.length >= MOST_POINTS ? kept.filter((_, i) => i % 2 === 0) : kept;
  seen.history = [...thin, point];
}

function addRow(entry) {
  seen.last = [entry, ...seen.last].slice(0, LAST_ROWS);
}

function addOutcome(entry) {
  const isSame = (each) => each.id === entry.id && !isKnown(each.target);
  const waiting = isKnown(entry.id) ? seen.last.find(isSame) : undefined;
  if (waiting) Object.assign(waiting, { ...entry, values: entry.values ?? waiting.values });
  else addRow(entry);
}

function addAlarm(alarm) {
  if (seen.alarms.some((each) => each.row === alarm.row)) return;
  seen.alarms = [...seen.alarms, alarm];
  if (Date.now() - saidAlarmAt > 10_000) {
    saidAlarmAt = Date.now();
    say(`Drift alarm at row ${count(alarm.row)}.`);
  }
}

// Drawing

let timer = null;
let drawnAt = 0;

/** Soon, and not more often than one can read. */
function draw() {
  if (paused || timer !== null) return;
  timer = setTimeout(() => {
    timer = null;
    drawnAt = performance.now();
    if (!paused) drawAll();
  }, Math.max(0, drawnAt + BETWEEN_DRAWINGS - performance.now()));
}

const isLabels = () => seen.model?.task === "classification" || seen.now?.error?.name === "share wrong";

function drawAll() {
  const { model, now } = seen;
  if (!model || !now) return;
  find("board").hidden = false;
  const empty = !now.rows;
  drawTitle(model);
  drawTiles(now);
  find("start").hidden = !empty;
  find("error").hidden = !seen.history.length;
  if (empty) drawStart(model);
  picture.show(seen.history, seen.alarms, now.error?.name ?? "error");
  rows.show(seen.last, isLabels());
  drawRefused(now);
  drawFacts(model, now);
  find("try-note").hidden = !model.columns?.length;
  tryRow.setModel(model, seen.base);
}

function drawTitle(model) {
  const columns = (model.columns ?? []).map((column) => column.name);
  write(find("model-name"), shortened(plain(model.name), 200));
  write(find("target"), plain(model.target));
  find("target").classList.toggle("long", plain(model.target).length > 40);
  const from = columns.length ? `from ${counted(columns.length, "column", "columns")}: ${listed(columns, 6)}` : "its columns are known after the first row";
  const classes = model.classes ?? [];
  const what = model.task === "classification" ? `one of ${counted(classes.length, "class", "classes")} (${listed(classes, 6)}), ` : model.task ? "a number, " : "";
  const text = what + from;
  write(find("lead"), text[0].toUpperCase() + text.slice(1));
  document.title = `${shortened(plain(model.target), 60)} – greville`;
}

function drawTiles(now) {
  const error = now.error ?? {};
  const share = error.name === "share wrong";
  const value = (x) => (share ? percent(x) : number(x));
  const lastAlarm = seen.alarms.at(-1);
  const forgotten = now.forgotten ? `, ${count(now.forgotten)} given up` : "";
  const tiles = [
    ["Error now", value(error.now), error.n ? `${error.name}, last ${count(Math.min(error.n, 1000))} rows` : "known after the first outcomes"],
    ["Error since the start", value(error.since_start), error.n ? `${error.name}, ${counted(error.n, "row", "rows")}` : "known after the first outcomes"],
    ["Rows learned", count(now.rows), `${rate(now.rate ?? 0)} a second`],
    ["Predictions", count(now.predictions), `${rate(now.prediction_rate ?? 0)} a second`],
    ["Drift alarms", count(seen.alarms.length), lastAlarm ? `last at row ${count(lastAlarm.row)}` : "none so far"],
    ["Waiting for targets", count(now.waiting), `rows with an id${forgotten}`],
  ];
  const box = find("tiles");
  if (!box.childElementCount)
    box.append(...tiles.map(([name]) => make("div", { class: "tile" }, make("dt", {}, name), make("dd", { class: "value" }), make("dd", { class: "sub" }))));
  tiles.forEach(([, text, sub], i) => {
    const [, big, small] = box.children[i].children;
    write(big, text);
    write(small, sub);
  });
}

function drawStart(model) {
  const names = (model.columns ?? []).slice(0, 3).map((column) => column.name);
  const inputs = names.length ? names : ["x1", "x2"];
  const row = { ...Object.fromEntries(inputs.map((name, i) => [name, i + 1.5])), [model.target]: 3.2 };
  const text = curl({ path: `${seen.base}learn`, body: JSON.stringify(row), token: hasToken() });
  const box = find("start-curl");
  if (box.textContent.includes(text)) return;
  box.replaceChildren(code(text, "A command that learns one row"));
}

function drawRefused(now) {
  find("refused").hidden = !now.refused && !seen.refused.length;
  write(find("refused-count"), `${counted(now.refused ?? seen.refused.length, "request", "requests")} since the server was started${seen.refused.length ? "; the last:" : "."}`);
  const texts = seen.refused.map(({ error }) => plain(error));
  const list = find("refused-list");
  if (list.dataset.key === JSON.stringify(texts)) return;
  list.dataset.key = JSON.stringify(texts);
  list.replaceChildren(...texts.map((text) => make("li", {}, shortened(text, 400))));
}

function drawFacts(model, now) {
  const snapshot = model.snapshot;
  const facts = [
    ["Solver", plain(model.solver)],
    ["Regularisation ε", number(model.epsilon)],
    ["Forgetting α", model.alpha === null || model.alpha === undefined ? "none" : typeof model.alpha === "number" ? number(model.alpha, 6) : plain(model.alpha)],
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
  if (!box.childElementCount) box.append(...facts.map(([name]) => make("div", {}, make("dt", {}, name), make("dd", {}))));
  facts.forEach(([, text], i) => write(box.children[i].lastChild, text));
  drawColumns(model);
}

function drawColumns(model) {
  const columns = model.columns ?? [];
  const details = find("columns");
  details.hidden = !columns.length;
  write(find("columns-summary"), counted(columns.length, "column", "columns"));
  const key = JSON.stringify(columns);
  if (!details.open || details.dataset.key === key) return;
  details.dataset.key = key;
  const body = columns.slice(0, COLUMNS_LISTED).map(({ name, what }) => make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, plain(what))));
  find("columns-table").replaceChildren(
    make("table", { class: "columns-table" },
      make("caption", { class: "unseen" }, "How each column is read"),
      make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Column"), make("th", { scope: "col" }, "Read as"))),
      make("tbody", {}, body)),
  );
  const rest = columns.length - COLUMNS_LISTED;
  if (rest > 0) find("columns-table").append(make("p", { class: "note" }, `and ${count(rest)} more`));
}

// The connection

const WORDS = { connecting: "Connecting", live: "Live", lost: "Lost", paused: "Paused" };
let state = "connecting";

function setState(next, detail = "") {
  const shownState = next === "live" && paused ? "paused" : next;
  const element = find("connection");
  element.dataset.state = shownState;
  write(element, WORDS[shownState] + detail);
  find("retry").hidden = next !== "lost";
  find("pause").hidden = next !== "live";
  if (next !== state && next !== "connecting") say(next === "live" ? "Connected to the server." : "The connection was lost.");
  if (next !== "connecting") state = next;
}

function trouble(text) {
  find("trouble").hidden = !text;
  write(find("trouble"), text);
}

let wake = () => {};

/** Wait, with the seconds shown; "Try now" and a network that comes back end it. */
function wait(seconds, signal) {
  return new Promise((resolve) => {
    let left = seconds;
    const show = () => setState("lost", `, trying again in ${left} s`);
    const ticking = setInterval(() => {
      left -= 1;
      if (left <= 0) wake();
      else show();
    }, 1000);
    wake = () => {
      clearInterval(ticking);
      resolve();
    };
    signal.addEventListener("abort", wake, { once: true });
    show();
  });
}

async function load(signal) {
  const { models } = await askJson("models", { signal });
  const wanted = new URLSearchParams(location.search).get("model");
  const name = models.includes(wanted) ? wanted : models[0];
  const chooser = find("chooser");
  if (chooser.dataset.key !== JSON.stringify(models)) {
    chooser.dataset.key = JSON.stringify(models);
    chooser.replaceChildren(...models.map((each) => make("option", { value: each }, shortened(each, 80))));
  }
  chooser.value = name;
  find("chooser-field").hidden = models.length < 2;
  seen.base = models.length > 1 ? `models/${encodeURIComponent(name)}/` : "";
  await loadModel(signal);
}

async function loadModel(signal) {
  modelAskedAt = Date.now();
  seen.model = await askJson(`${seen.base}model`, { signal });
}

/** Ask for the model again where rows were learned since. */
function renew(signal) {
  const { model, now } = seen;
  const isOld = now.rows !== model.rows || now.waiting !== model.waiting;
  const isFirst = now.rows > 0 && !model.rows;
  if (!isOld || (!isFirst && Date.now() - modelAskedAt < MODEL_AGE)) return;
  loadModel(signal).then(draw, () => {}); // a connection that is lost is seen at the stream
}

async function follow(signal) {
  const silent = new AbortController();
  const both = AbortSignal.any([signal, silent.signal]);
  let watch;
  const heard = () => {
    clearTimeout(watch);
    watch = setTimeout(() => silent.abort(), SILENCE);
  };
  try {
    await load(both);
    heard();
    for await (const { event, data } of events(`${seen.base}events`, both)) {
      heard();
      take(event, data);
      if (event === "state") {
        trouble("");
        setState("live");
      }
      if (event === "state" || event === "tick") renew(both);
      if (state === "live") failures = 0;
    }
  } finally {
    clearTimeout(watch);
    silent.abort();
  }
}

let failures = 0;

async function run() {
  following?.abort();
  const mine = (following = new AbortController());
  failures = 0;
  while (!mine.signal.aborted) {
    setState("connecting");
    try {
      await follow(mine.signal);
    } catch (error) {
      if (mine.signal.aborted) return;
      if (error instanceof Refused && error.status) trouble(error.message);
      else if (!(error instanceof Refused) && error.name !== "AbortError") trouble(`The page did not understand the server: ${error.message}`);
    }
    if (mine.signal.aborted) return;
    await wait(WAITS[Math.min(failures, WAITS.length - 1)], mine.signal);
    failures += 1;
  }
}

find("retry").addEventListener("click", () => wake());
addEventListener("online", () => wake());
find("pause").addEventListener("click", () => {
  paused = !paused;
  find("pause").setAttribute("aria-pressed", String(paused));
  setState("live");
  draw();
});
find("columns").addEventListener("toggle", () => seen.model && drawColumns(seen.model));

function choose() {
  seen = fresh();
  tryRow.forget();
  find("board").hidden = true;
  run();
}

find("chooser").addEventListener("change", (event) => {
  history.pushState(null, "", `?${new URLSearchParams({ model: event.target.value })}`);
  choose();
});
addEventListener("popstate", () => {
  // The skip link is a step in the history too, and no other model.
  const wanted = new URLSearchParams(location.search).get("model") ?? find("chooser").options[0]?.value;
  if (wanted !== find("chooser").value) choose();
});

run();
