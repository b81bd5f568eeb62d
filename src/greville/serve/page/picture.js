// The error over the rows, as a picture and as text.

import { count, counted, drawn, find, make, number, percent, timeElement, write } from "./elements.js";

const MOST_ALARMS_DRAWN = 100;
const ALARMS_LISTED = 5;
const NUMBERS_LISTED = 25;
const MARGIN = { right: 14, top: 16, bottom: 44 };
const LETTER = 7.2; // px, the width of a digit in the picture

/** Round steps, about so many, over a range; none smaller than `least`. */
export function ticks(low, high, about, least = 0) {
  const rough = Math.max((high - low) / Math.max(about, 1), least);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999) * power;
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-6; i++) found.push(i * step + 0); // no -0
  return found;
}

/** The top of the axis. The first errors may be so large that nothing else could be seen. */
export function limit(points) {
  const errors = points.flatMap((p) => [p.now, p.since_start]).filter(Number.isFinite);
  const most = Math.max(0, ...errors);
  const later = points
    .slice(Math.floor(points.length / 4))
    .map((p) => p.now)
    .filter(Number.isFinite);
  const usual = Math.max(0, ...later);
  if (usual === 0 || most <= 6 * usual) return { top: most > 0 ? 1.08 * most : 1, most, cut: false };
  return { top: 1.08 * Math.max(...errors.filter((error) => error <= 6 * usual)), most, cut: true };
}

function path(points, key, x, y) {
  let d = "";
  let down = false;
  for (const point of points) {
    if (typeof point[key] === "number") {
      d += `${down ? "L" : "M"}${x(point.row).toFixed(1)} ${y(point[key]).toFixed(1)}`;
      down = true;
    } else down = false;
  }
  return d;
}

export class Picture {
  constructor() {
    this.box = find("picture");
    this.data = { points: [], alarms: [], name: "error" };
    this.near = null; // the row that the pointer is at
    this.readout = null;
    this.scale = null;
    this.listedUntil = null;
    new ResizeObserver(() => this.draw()).observe(this.box);
    find("numbers").addEventListener("toggle", () => this.listNumbers());
    this.box.addEventListener("pointermove", (event) => this.point(event));
    this.box.addEventListener("pointerleave", () => {
      this.near = null;
      this.drawReadout();
    });
  }

  show(points, alarms, name) {
    const { data } = this;
    if (points === data.points && alarms === data.alarms && name === data.name) return;
    this.data = { points, alarms, name };
    this.draw();
    this.listAlarms();
    this.listNumbers();
  }

  value(error) {
    return this.data.name === "share wrong" ? percent(error) : number(error);
  }

  draw() {
    const width = Math.floor(this.box.clientWidth);
    const { points } = this.data;
    if (!width || !points.length) {
      this.box.replaceChildren();
      return;
    }
    const height = width < 480 ? 240 : 320;
    const [right, top, bottom] = [width - MARGIN.right, MARGIN.top, height - MARGIN.bottom];
    const { top: highest, most, cut } = limit(points);
    const marks = ticks(0, highest, (bottom - top) / 48).map((error) => [
      error,
      error ? this.value(error) : "0",
    ]);
    const left = 36 + LETTER * Math.max(...marks.map(([, text]) => text.length));
    const first = points.length > 1 ? points[0].row : 0;
    const last = Math.max(points.at(-1).row, first + 1);
    const x = (row) => left + ((row - first) / (last - first)) * (right - left);
    const y = (error) => bottom - (error / highest) * (bottom - top);
    this.scale = { x, left, right, top, bottom, first, last };
    this.readout = drawn("g", { class: "readout", "aria-hidden": "true" });

    const svg = drawn("svg", {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-labelledby": "picture-title picture-desc",
    });
    svg.append(
      drawn("title", { id: "picture-title" }, `${this.data.name} over the rows learned`),
      drawn("desc", { id: "picture-desc" }, this.inWords()),
      drawn(
        "clipPath",
        { id: "picture-area" },
        drawn("rect", { x: left, y: top - 2, width: right - left, height: bottom - top + 4 }),
      ),
      this.axes(x, y, marks, { left, right, top, bottom, first, last, height }),
      drawn(
        "g",
        { "clip-path": "url(#picture-area)" },
        this.alarmLines(x, top, bottom),
        drawn("path", { class: "line-all", d: path(points, "since_start", x, y) }),
        drawn("path", { class: "line-now", d: path(points, "now", x, y) }),
      ),
      this.ends(x, y),
      this.readout,
    );
    this.drawReadout();
    this.box.replaceChildren(svg);
    const note = find("picture-note");
    note.hidden = !cut;
    if (cut) write(note, `Errors up to ${this.value(most)} are beyond the top of the picture.`);
  }

  axes(x, y, marks, { left, right, top, bottom, first, last, height }) {
    const group = drawn("g", { class: "axes" });
    for (const [error, text] of marks) {
      group.append(
        drawn("line", { class: error ? "grid" : "base", x1: left, x2: right, y1: y(error), y2: y(error) }),
        drawn("text", { x: left - 10, y: y(error) + 4, "text-anchor": "end" }, text),
      );
    }
    for (const row of ticks(first, last, Math.max((right - left) / 95, 3), 1)) {
      const at = x(row);
      const anchor = at > right - 24 ? "end" : at < left + 16 ? "start" : "middle";
      group.append(
        drawn("line", { class: "base", x1: at, x2: at, y1: bottom, y2: bottom + 4 }),
        drawn(
          "text",
          { x: at, y: bottom + 19, "text-anchor": anchor },
          row >= 1e9 ? number(row) : count(row),
        ),
      );
    }
    const middle = (top + bottom) / 2;
    group.append(
      drawn(
        "text",
        { class: "axis-name", x: (left + right) / 2, y: height - 6, "text-anchor": "middle" },
        "rows learned",
      ),
      drawn(
        "text",
        {
          class: "axis-name",
          x: 12,
          y: middle,
          "text-anchor": "middle",
          transform: `rotate(-90 12 ${middle})`,
        },
        this.data.name,
      ),
    );
    return group;
  }

  alarmLines(x, top, bottom) {
    const group = drawn("g", { class: "alarms" });
    for (const alarm of this.data.alarms.slice(-MOST_ALARMS_DRAWN)) {
      const at = x(alarm.row).toFixed(1);
      group.append(
        drawn("path", { class: "alarm-line", d: `M${at} ${top}V${bottom}` }),
        drawn("path", { class: "alarm-mark", d: `M${at} ${top + 7}l-5 -8h10z` }),
      );
    }
    return group;
  }

  ends(x, y) {
    const group = drawn("g", {});
    const last = this.data.points.at(-1);
    for (const [key, name] of [
      ["since_start", "end-all"],
      ["now", "end-now"],
    ]) {
      if (typeof last[key] === "number" && y(last[key]) >= MARGIN.top)
        group.append(drawn("circle", { class: name, cx: x(last.row), cy: y(last[key]), r: 3.5 }));
    }
    return group;
  }

  point(event) {
    if (!this.scale) return;
    const { left, right, first, last } = this.scale;
    const at = (event.clientX - this.box.getBoundingClientRect().left - left) / (right - left);
    this.near = at < -0.02 || at > 1.02 ? null : first + at * (last - first);
    this.drawReadout();
  }

  /** The values at the pointer. */
  drawReadout() {
    this.readout?.replaceChildren();
    const { points } = this.data;
    if (this.near === null || !points.length) return;
    const { x, left, right, top, bottom } = this.scale;
    const distance = (p) => Math.abs(p.row - this.near);
    const point = points.reduce((best, p) => (distance(p) < distance(best) ? p : best));
    const at = x(point.row);
    const lines = [
      `row ${count(point.row)}`,
      `last 1,000: ${this.value(point.now)}`,
      `all: ${this.value(point.since_start)}`,
    ];
    const width = 26 + LETTER * Math.max(...lines.map((line) => line.length));
    const start = at + 12 + width > right ? Math.max(at - 12 - width, left) : at + 12;
    this.readout.append(
      drawn("line", { class: "here", x1: at, x2: at, y1: top, y2: bottom }),
      drawn("rect", { class: "bubble", x: start, y: top + 6, width, height: 66, rx: 6 }),
      ...lines.map((line, i) => drawn("text", { x: start + 12, y: top + 26 + 18 * i }, line)),
    );
  }

  inWords() {
    const { points, alarms, name } = this.data;
    const known = points.filter((p) => typeof p.now === "number");
    const parts = [];
    if (known.length) {
      const [from, to] = [known[0], known.at(-1)];
      parts.push(
        `From row ${count(from.row)} to row ${count(to.row)} the ${name} of the last 1,000 rows went from ${this.value(from.now)} to ${this.value(to.now)}.`,
      );
      parts.push(`Since the start it is ${this.value(to.since_start)}.`);
    }
    parts.push(
      alarms.length
        ? `${counted(alarms.length, "drift alarm", "drift alarms")}, listed below.`
        : "No drift alarms.",
    );
    return parts.join(" ");
  }

  listAlarms() {
    const { alarms } = this.data;
    const box = find("alarms");
    find("alarm-legend").hidden = !alarms.length;
    const key = `${alarms.length} ${alarms.at(-1)?.row}`;
    if (box.dataset.key === key) return;
    box.dataset.key = key;
    if (!alarms.length) {
      box.replaceChildren();
      return;
    }
    const newest = alarms.slice(-ALARMS_LISTED).reverse();
    const rest = alarms.length - newest.length;
    box.replaceChildren(
      make("h3", {}, "Drift alarms"),
      make(
        "ul",
        { class: "plain alarm-list" },
        newest.map((alarm) => make("li", {}, `row ${count(alarm.row)}, `, timeElement(alarm.at))),
        rest ? make("li", { class: "muted" }, `${count(rest)} before`) : null,
      ),
    );
    if (alarms.length > MOST_ALARMS_DRAWN)
      box.append(make("p", { class: "note" }, `The last ${MOST_ALARMS_DRAWN} are in the picture.`));
  }

  /** Some of the points as a table, made only while it is open. */
  listNumbers() {
    const { points } = this.data;
    if (!find("numbers").open || !points.length || this.listedUntil === points.at(-1)) return;
    this.listedUntil = points.at(-1);
    const every = Math.max(1, Math.ceil(points.length / NUMBERS_LISTED));
    const some = points.filter((_, i) => (points.length - 1 - i) % every === 0).reverse();
    const head = ["Row", "Last 1,000 rows", "Since the start"];
    find("numbers-table").replaceChildren(
      make(
        "table",
        { class: "points" },
        make("caption", { class: "unseen" }, `${this.data.name}, newest first`),
        make(
          "thead",
          {},
          make(
            "tr",
            {},
            head.map((name) => make("th", { scope: "col" }, name)),
          ),
        ),
        make(
          "tbody",
          {},
          some.map((p) =>
            make(
              "tr",
              {},
              [count(p.row), this.value(p.now), this.value(p.since_start)].map((text) =>
                make("td", {}, text),
              ),
            ),
          ),
        ),
      ),
    );
  }
}
