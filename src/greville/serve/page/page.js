// The page of a model: what it predicts, how well, and what is happening now.

import { Refused, askJson, events } from "./client.js";
import { count, find, make, plain, shortened, write } from "./elements.js";
import { drawColumns, drawOverview } from "./overview.js";
import { Picture } from "./picture.js";
import { Rows } from "./rows.js";
import { Seen } from "./seen.js";
import { TryRow } from "./tryrow.js";

const SILENCE = 20_000; // ms; the server says something every second
const BETWEEN_DRAWINGS = 250; // ms; more often than that nobody can read
const BETWEEN_ALARMS = 10_000; // ms, that are read out
const MODEL_AGE = 5_000; // ms
const UNSEEN = 60_000; // ms, after which a page that nobody looks at leaves the server alone
const BETWEEN_STATES = 5_000; // ms
const WAITS = [1, 2, 4, 8, 15, 30]; // s

let seen = new Seen();
let following = null; // the AbortController of the model that is shown
let attempt = null; // the AbortController of the connection in use
let asleep = false;
let paused = false;
let saidAlarmAt = 0;
let modelAskedAt = 0;
let stateAskedAt = 0;

const picture = new Picture();
const rows = new Rows();
const tryRow = new TryRow(() => seen.last.find((entry) => entry.values)?.values ?? null);

/** Have screen readers say something. */
const say = (text) => write(find("said"), text);

function take(event, data) {
  if (!seen.take(event, data)) return;
  if (event === "alarm" && Date.now() - saidAlarmAt > BETWEEN_ALARMS) {
    saidAlarmAt = Date.now();
    say(`Drift alarm at row ${count(data.row)}.`);
  }
  draw();
}

// Drawing

let timer = null;
let drawnAt = 0;

/** Soon, and not more often than one can read. */
function draw() {
  if (paused || timer !== null) return;
  timer = setTimeout(
    () => {
      timer = null;
      drawnAt = performance.now();
      if (!paused) drawAll();
    },
    Math.max(0, drawnAt + BETWEEN_DRAWINGS - performance.now()),
  );
}

function drawAll() {
  const { model, now, history, alarms, last } = seen;
  if (!model || !now) return;
  find("board").hidden = false;
  drawOverview(seen);
  drawTabTitle();
  find("error").hidden = !history.length;
  picture.show(history, alarms, now.error?.name ?? "error");
  rows.show(last, seen.isOfLabels);
  const some = now.rate + now.prediction_rate > 20; // which is as many as the server sends
  write(find("last-note"), some ? "newest first, not all of them" : "newest first");
  find("try-note").hidden = !model.columns?.length;
  tryRow.setModel(model, seen.base);
}

function drawTabTitle() {
  const what = seen.model ? `${shortened(plain(seen.model.target), 60)} – greville` : "greville";
  document.title = state === "lost" ? `(lost) ${what}` : what;
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
  if (next !== state && next !== "connecting")
    say(next === "live" ? "Connected to the server." : "The connection was lost.");
  if (next !== "connecting") state = next;
  drawTabTitle();
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

/** Ask for everything again where rows were left out: a second stream, until its first event. */
async function catchUp(signal) {
  if (paused || !seen.isBehind || Date.now() - stateAskedAt < BETWEEN_STATES) return;
  stateAskedAt = Date.now();
  const mine = seen;
  try {
    for await (const { event, data } of events(`${mine.base}events`, signal)) {
      mine.take(event, data);
      break;
    }
  } catch {
    return; // too many may be watching; it is tried again
  }
  draw();
}

async function follow(signal) {
  const mine = (attempt = new AbortController());
  const end = () => mine.abort();
  signal.addEventListener("abort", end, { once: true });
  let watch;
  const heard = () => {
    clearTimeout(watch);
    watch = setTimeout(end, SILENCE);
  };
  try {
    await load(mine.signal);
    heard();
    for await (const { event, data } of events(`${seen.base}events`, mine.signal)) {
      heard();
      take(event, data);
      if (event === "state") {
        trouble("");
        setState("live");
      }
      if (event === "state" || event === "tick") renew(mine.signal);
      if (event === "tick") catchUp(mine.signal);
      if (state === "live") failures = 0;
    }
  } finally {
    clearTimeout(watch);
    signal.removeEventListener("abort", end);
    end();
  }
}

let failures = 0;

async function run() {
  following?.abort();
  const mine = (following = new AbortController());
  failures = 0;
  while (!mine.signal.aborted) {
    setState("connecting");
    if (asleep) await untilAwake;
    try {
      await follow(mine.signal);
    } catch (error) {
      if (mine.signal.aborted) return;
      if (error instanceof Refused && error.status) trouble(error.message);
      else if (!(error instanceof Refused) && error.name !== "AbortError")
        trouble(`The page did not understand the server: ${error.message}`);
    }
    if (mine.signal.aborted) return;
    if (asleep) continue;
    await wait(WAITS[Math.min(failures, WAITS.length - 1)], mine.signal);
    failures += 1;
  }
}

let sleep = null;
let untilAwake = Promise.resolve();
let awake = () => {};

// Browsers open six connections to a server, and the server has so many watchers: a page in the
// background keeps none.
document.addEventListener("visibilitychange", () => {
  clearTimeout(sleep);
  if (document.hidden) {
    sleep = setTimeout(() => {
      asleep = true;
      untilAwake = new Promise((resolve) => (awake = resolve));
      attempt?.abort();
    }, UNSEEN);
    return;
  }
  asleep = false;
  awake();
  wake(); // where it waits to try again
});

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
  seen = new Seen();
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
