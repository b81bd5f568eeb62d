// Elements, and numbers and times as text. Data become text nodes and attributes, never markup.

const SVG = "http://www.w3.org/2000/svg";

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
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

/** So many digits that numbers show where they differ by `difference`; at least four. */
export function digitsFor(values, difference) {
  const size = Math.max(...values.filter(Number.isFinite).map(Math.abs));
  if (!(size > 0) || !(difference > 0)) return 4;
  const needed = Math.floor(Math.log10(size)) - Math.floor(Math.log10(difference)) + 2;
  return Math.min(Math.max(needed, 4), 10);
}

export const count = (value) =>
  typeof value === "number" && Number.isFinite(value) ? value.toLocaleString("en-US") : NONE;

export const counted = (n, one, many) => `${count(n)} ${n === 1 ? one : many}`;

export const percent = (share, digits = 3) =>
  typeof share === "number" ? `${number(100 * share, digits)} %` : NONE;

export function bytes(value) {
  if (typeof value !== "number") return NONE;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  for (; value >= 1024 && i < units.length - 1; i++) value /= 1024;
  return `${number(value, 3)} ${units[i]}`;
}

/** A rate: 812.5 rows are 813 a second, 0.02 are 0.02. */
export const rate = (value) => (value >= 100 ? count(Math.round(value)) : number(value, 3));

const dated = (seconds) => new Date(seconds * 1000);
const twoDigits = (n) => String(n).padStart(2, "0");

/** The time of day, with the date where it is not today's. */
export function time(seconds) {
  if (typeof seconds !== "number" || Number.isNaN(dated(seconds).getTime())) return NONE;
  const at = dated(seconds);
  const clock = [at.getHours(), at.getMinutes(), at.getSeconds()].map(twoDigits).join(":");
  if (at.toDateString() === new Date().toDateString()) return clock;
  return `${at.getFullYear()}-${twoDigits(at.getMonth() + 1)}-${twoDigits(at.getDate())} ${clock}`;
}

export function timeElement(seconds) {
  const text = time(seconds);
  return text === NONE ? text : make("time", { datetime: dated(seconds).toISOString() }, text);
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
  const first = names
    .slice(0, most)
    .map((name) => shortened(plain(name), 60))
    .join(", ");
  return names.length > most ? `${first} and ${count(names.length - most)} more` : first;
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** A command for a shell. */
export function curl({ path, method = "POST", body = null, type = "application/json", token = false }) {
  const parts = [`curl ${quoted(new URL(path, document.baseURI).href)}`];
  if (method !== "GET" && !(method === "POST" && body !== null))
    parts[0] = parts[0].replace("curl ", `curl -X ${method} `);
  if (token) parts.push('-H "Authorization: Bearer $GREVILLE_TOKEN"');
  if (body !== null) parts.push(`-H 'Content-Type: ${type}'`, `--data-binary ${quoted(body)}`);
  return parts.join(" \\\n  ");
}

/** Text to copy, with a button where the browser lets a page copy. */
export function code(text, label) {
  const block = make("pre", { tabindex: "0", role: "group", "aria-label": label }, make("code", {}, text));
  if (!navigator.clipboard) return make("div", { class: "code" }, block);
  const button = make("button", { type: "button", class: "quiet copy" }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      write(button, "Copied");
    } catch {
      write(button, "Not allowed");
    }
    setTimeout(() => write(button, "Copy"), 2000);
  });
  return make("div", { class: "code" }, block, button);
}
