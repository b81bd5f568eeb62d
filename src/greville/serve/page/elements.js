// Elements, and numbers and times as text. Data become text nodes and attributes, never markup.

const SVG = "http://www.w3.org/2000/svg";

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat(2).filter((child) => child !== null && child !== undefined));
  return element;
}

export const make = (tag, attributes, ...children) =>
  filled(document.createElement(tag), attributes, children);

export const drawn = (tag, attributes, ...children) =>
  filled(document.createElementNS(SVG, tag), attributes, children);

export const find = (id) => document.getElementById(id);

/** Set a text only where it changes, so that selections and screen readers are left alone. */
export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Replace what an element has, where what it shows has changed. */
export function redraw(element, shown, children) {
  const key = JSON.stringify(shown);
  if (element.dataset.key === key) return;
  element.dataset.key = key;
  element.replaceChildren(...children());
}

export const NONE = "–";

const RAISED = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

/** A measured number with some significant digits: 12,350, 0.001235, 1.235 × 10⁻⁹. */
export function number(value, digits = 4) {
  if (typeof value !== "number" || !Number.isFinite(value)) return NONE;
  const size = Math.abs(value);
  if (value === 0 || (size >= 1e-4 && size < 1e9)) {
    return value.toLocaleString("en-US", { maximumSignificantDigits: digits }).replace("-", "−");
  }
  const [factor, power] = value.toExponential(digits - 1).split("e");
  const raised = [...String(Number(power))].map((sign) => RAISED[sign]).join("");
  return `${Number(factor)} × 10${raised}`.replace("-", "−");
}

export const count = (value) =>
  typeof value === "number" && Number.isFinite(value) ? value.toLocaleString("en-US") : NONE;

export const counted = (n, one, many) => `${count(n)} ${n === 1 ? one : many}`;

export const percent = (share, digits = 3) =>
  typeof share === "number" ? `${number(100 * share, digits)} %` : NONE;

const twoDigits = (n) => String(n).padStart(2, "0");

/** The time of day, with the date where it is not today's. */
export function time(seconds) {
  const at = new Date(seconds * 1000);
  if (typeof seconds !== "number" || Number.isNaN(at.getTime())) return NONE;
  const clock = [at.getHours(), at.getMinutes(), at.getSeconds()].map(twoDigits).join(":");
  if (at.toDateString() === new Date().toDateString()) return clock;
  return `${at.getFullYear()}-${twoDigits(at.getMonth() + 1)}-${twoDigits(at.getDate())} ${clock}`;
}

/** A value of a row or a label, as JSON has it; numbers that were measured go to `number`. */
export function plain(value) {
  if (value === null || value === undefined) return NONE;
  return typeof value === "string" ? value : JSON.stringify(value);
}

export const shown = (value) => (typeof value === "number" ? number(value) : plain(value));

export const shortened = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

/** The first of many names, and how many more there are. */
export function listed(names, most) {
  const first = names.slice(0, most).map((name) => shortened(plain(name), 60));
  const more = names.length > most ? ` and ${count(names.length - most)} more` : "";
  return first.join(", ") + more;
}

/** Names with a bar and a number each. */
export function bars(entries, most, text) {
  const rows = entries.map(([name, value]) => {
    const bar = make("meter", { max: most, value, "aria-hidden": "true" });
    const head = make("th", { scope: "row" }, shortened(name, 200));
    return make("tr", {}, head, make("td", {}, bar), make("td", {}, text(value)));
  });
  return make("table", { class: "bars" }, make("tbody", {}, rows));
}
