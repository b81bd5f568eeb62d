// The error over the rows, as a picture and in words.

import { count, counted, drawn, find, number, percent, redraw, write } from "./elements.js";

const MARGIN = { right: 14, top: 16, bottom: 44 };
const LETTER = 7.2; // px, the width of a digit in the picture

/** Round steps, about so many, over a range; none smaller than `least`. */
function ticks(low, high, about, least = 0) {
  const rough = Math.max((high - low) / Math.max(about, 1), least);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999) * power;
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-6; i++) found.push(i * step + 0); // no -0
  return found;
}

/** The top of the axis. The first errors may be so large that nothing else could be seen. */
function limit(points) {
  const errors = points.flatMap((p) => [p.now, p.since_start]).filter(Number.isFinite);
  const later = points.slice(Math.floor(points.length / 4)).map((p) => p.now);
  const [most, usual] = [Math.max(0, ...errors), Math.max(0, ...later.filter(Number.isFinite))];
  if (usual === 0 || most <= 6 * usual) return { top: most > 0 ? 1.08 * most : 1, most, cut: false };
  return { top: 1.08 * Math.max(...errors.filter((error) => error <= 6 * usual)), most, cut: true };
}

const line = (points, key, x, y) =>
  points
    .filter((point) => typeof point[key] === "number")
    .map((point, i) => `${i ? "L" : "M"}${x(point.row).toFixed(1)} ${y(point[key]).toFixed(1)}`)
    .join("");

/** A text with its place. */
const label = (text, x, y, anchor, attributes = {}) =>
  drawn("text", { x, y, "text-anchor": anchor, ...attributes }, text);

function inWords({ points, alarms, name, value }) {
  const [from, to] = [points[0], points.at(-1)];
  return [
    `From row ${count(from.row)} to row ${count(to.row)} the ${name} of the last 1,000 rows went`,
    `from ${value(from.now)} to ${value(to.now)}. Since the start it is ${value(to.since_start)}.`,
    alarms.length ? `${counted(alarms.length, "drift alarm", "drift alarms")}.` : "No drift alarms.",
  ].join(" ");
}

function axes({ name, value }, highest, first, last, [left, right, top, bottom], x, y) {
  const group = drawn("g", { class: "axes" });
  for (const error of ticks(0, highest, (bottom - top) / 48)) {
    group.append(
      drawn("line", { class: error ? "grid" : "base", x1: left, x2: right, y1: y(error), y2: y(error) }),
      label(error ? value(error) : "0", left - 10, y(error) + 4, "end"),
    );
  }
  for (const row of ticks(first, last, Math.max((right - left) / 95, 3), 1)) {
    const anchor = x(row) > right - 24 ? "end" : x(row) < left + 16 ? "start" : "middle";
    group.append(
      drawn("line", { class: "base", x1: x(row), x2: x(row), y1: bottom, y2: bottom + 4 }),
      label(row >= 1e9 ? number(row) : count(row), x(row), bottom + 19, anchor),
    );
  }
  const middle = (top + bottom) / 2;
  group.append(
    label("rows learned", (left + right) / 2, bottom + 38, "middle", { class: "axis-name" }),
    label(name, 12, middle, "middle", { class: "axis-name", transform: `rotate(-90 12 ${middle})` }),
  );
  return group;
}

function alarmMarks(alarms, x, top, bottom) {
  const marks = alarms.flatMap(({ row }) => [
    drawn("path", { class: "alarm-line", d: `M${x(row).toFixed(1)} ${top}V${bottom}` }),
    drawn("path", { class: "alarm-mark", d: `M${x(row).toFixed(1)} ${top + 7}l-5 -8h10z` }),
  ]);
  return drawn("g", { class: "alarms" }, marks);
}

function picture(told, width) {
  const { points, alarms } = told;
  const height = width < 480 ? 240 : 320;
  const [right, top, bottom] = [width - MARGIN.right, MARGIN.top, height - MARGIN.bottom];
  const { top: highest } = limit(points);
  const longest = Math.max(...ticks(0, highest, (bottom - top) / 48).map((e) => told.value(e).length));
  const left = 36 + LETTER * longest;
  const first = points.length > 1 ? points[0].row : 0;
  const last = Math.max(points.at(-1).row, first + 1);
  const x = (row) => left + ((row - first) / (last - first)) * (right - left);
  const y = (error) => bottom - (error / highest) * (bottom - top);
  const names = { role: "img", "aria-labelledby": "picture-title picture-desc" };
  const area = { x: left, y: top - 2, width: right - left, height: bottom - top + 4 };
  return drawn(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, width, height, ...names },
    drawn("title", { id: "picture-title" }, `${told.name} over the rows learned`),
    drawn("desc", { id: "picture-desc" }, inWords(told)),
    drawn("clipPath", { id: "picture-area" }, drawn("rect", area)),
    axes(told, highest, first, last, [left, right, top, bottom], x, y),
    drawn(
      "g",
      { "clip-path": "url(#picture-area)" },
      alarmMarks(alarms, x, top, bottom),
      drawn("path", { class: "line-all", d: line(points, "since_start", x, y) }),
      drawn("path", { class: "line-now", d: line(points, "now", x, y) }),
    ),
  );
}

/** Draw the errors of a state, where they have changed. */
export function drawPicture({ history: points, alarms, error: { name } }) {
  const value = (error) => (name === "share wrong" ? percent(error) : number(error));
  const box = find("picture");
  find("error").hidden = !points.length;
  const width = Math.floor(box.clientWidth);
  if (!points.length || !width) return;
  redraw(box, [points.at(-1), points.length, alarms.at(-1), name, width], () => [
    picture({ points, alarms, name, value }, width),
  ]);
  const { most, cut } = limit(points);
  find("picture-note").hidden = !cut;
  if (cut) write(find("picture-note"), `Errors up to ${value(most)} are beyond the top of the picture.`);
}
