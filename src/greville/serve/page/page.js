// The page of a model: what it predicts, how well, and what is happening now.

import { Refused, askJson, events } from "./client.js";
import { find, make, plain, shortened, write } from "./elements.js";
import { drawOverview } from "./overview.js";
import { drawPicture } from "./picture.js";
import { drawRows } from "./rows.js";
import { TryRow } from "./tryrow.js";

const SILENCE = 20_000; // ms; the server says something every second
const MODEL_AGE = 5_000; // ms
const WAITS = [1, 2, 4, 8, 15, 30]; // s

let model = null;
let now = null; // the newest state
let base = "";
let askedAt = 0;
let current = null; // the AbortController of the connection in use

const tryRow = new TryRow(() => now?.last.find((entry) => Object.keys(entry.values).length)?.values);

function draw() {
  if (!model || !now) return;
  find("board").hidden = false;
  document.title = `${shortened(plain(model.target), 60)} – greville`;
  drawOverview(model, now, base);
  drawPicture(now);
  drawRows(now, model.task === "classification");
  tryRow.setModel(model, base);
}

// The connection

function setState(state, text) {
  find("connection").dataset.state = state;
  write(find("connection"), text);
  find("retry").hidden = state !== "lost";
}

function trouble(text) {
  find("trouble").hidden = !text;
  write(find("trouble"), text);
}

let wake = () => {};

/** Wait, with the seconds shown; "Try now" and a network that comes back end it. */
async function wait(seconds) {
  for (let left = seconds, woken = false; left > 0 && !woken; left--) {
    setState("lost", `Lost, trying again in ${left} s`);
    woken = await new Promise((resolve) => {
      wake = () => resolve(true);
      setTimeout(() => resolve(false), 1000);
    });
  }
}

async function chooseModel(signal) {
  const { models } = await askJson("models", { signal });
  const wanted = new URLSearchParams(location.search).get("model");
  const name = models.includes(wanted) ? wanted : models[0];
  const options = models.map((each) => make("option", { value: each }, shortened(each, 80)));
  find("chooser").replaceChildren(...options);
  find("chooser").value = name;
  find("chooser-field").hidden = models.length < 2;
  base = models.length > 1 ? `models/${encodeURIComponent(name)}/` : "";
  await askModel(signal);
}

async function askModel(signal) {
  askedAt = Date.now();
  const known = await askJson(`${base}model`, { signal });
  model = { ...known, importance: await askJson(`${base}importance`, { signal }) };
}

/** Ask for the model again where rows were learned since. */
function renew(signal) {
  const isOld = now.rows !== model.rows || now.waiting !== model.waiting;
  const isFirst = now.rows > 0 && !model.rows;
  if (isOld && (isFirst || Date.now() - askedAt > MODEL_AGE)) askModel(signal).then(draw, () => {});
}

let failures = 0;

async function follow(mine) {
  let watch;
  const heard = () => {
    clearTimeout(watch);
    watch = setTimeout(() => mine.abort(), SILENCE);
  };
  try {
    await chooseModel(mine.signal);
    heard();
    for await (const { data } of events(`${base}events`, mine.signal)) {
      heard();
      now = data;
      failures = 0;
      trouble("");
      setState("live", "Live");
      renew(mine.signal);
      draw();
    }
  } finally {
    clearTimeout(watch);
  }
}

async function run() {
  for (;;) {
    const mine = (current = new AbortController());
    setState("connecting", "Connecting");
    try {
      await follow(mine);
    } catch (error) {
      if (error instanceof Refused && error.status) trouble(error.message);
      else if (!(error instanceof Refused) && error.name !== "AbortError")
        trouble(`The page did not understand the server: ${error.message}`);
    }
    // Browsers open six connections to a server: a page in the background keeps none.
    if (document.hidden) await new Promise((resolve) => (wake = resolve));
    else if (current === mine) await wait(WAITS[Math.min(failures++, WAITS.length - 1)]);
  }
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) current?.abort();
  else wake();
});
addEventListener("resize", draw);
addEventListener("online", () => wake());
find("retry").addEventListener("click", () => wake());

/** Show the model that the address names. */
function change() {
  [model, now] = [null, null];
  find("board").hidden = true;
  const old = current;
  current = null; // it is not waited for
  old?.abort();
  wake();
}

find("chooser").addEventListener("change", (event) => {
  history.pushState(null, "", `?${new URLSearchParams({ model: event.target.value })}`);
  change();
});
addEventListener("popstate", () => {
  // The skip link is a step in the history too, and no other model.
  const wanted = new URLSearchParams(location.search).get("model") ?? find("chooser").options[0]?.value;
  if (wanted !== find("chooser").value) change();
});

run();
