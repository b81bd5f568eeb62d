// The form that predicts a row.

import { Refused, askJson } from "./client.js";
import { bars, counted, find, make, number, percent, plain, redraw, shortened } from "./elements.js";

const CLASSES_SHOWN = 8;
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

const kindOf = ({ what = "" }) => {
  if (what.startsWith("true or false")) return "switch";
  if (/^\d+ numbers/.test(what)) return "vector";
  return /^number\b/.test(what) ? "number" : "text";
};

/** What was typed, as JSON. What is no number is sent as text: the server says what it reads. */
function parsed(kind, text) {
  text = text.trim();
  if (text === "") return null;
  if (kind === "switch") return text === "true";
  if (kind === "vector") {
    const parts = text.replace(/^\[|\]$/g, "").split(/[\s,;]+/).filter(Boolean); // prettier-ignore
    return parts.every((part) => NUMBER.test(part)) ? parts.map(Number) : text;
  }
  const value = Number(text);
  return kind === "number" && NUMBER.test(text) && Number.isFinite(value) ? value : text;
}

export class TryRow {
  constructor(newestValues) {
    this.newestValues = newestValues; // () -> the values of the newest row, or null
    this.typed = new Map(); // by column
    this.result = find("try-result");
    find("try-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.predict();
    });
    find("try-newest").addEventListener("click", () => this.fill(this.newestValues() ?? {}));
    find("try-clear").addEventListener("click", () => this.fill({}));
  }

  setModel(model, base) {
    if (base !== this.base) this.typed.clear();
    Object.assign(this, { model, base, columns: model.columns ?? [] });
    find("try-buttons").hidden = !this.columns.length;
    find("try-note").hidden = !this.columns.length;
    redraw(find("try-fields"), [base, this.columns], () => this.fields());
  }

  fields() {
    this.result.replaceChildren();
    if (!this.columns.length) return [make("p", { class: "muted" }, "The first row names the columns.")];
    this.inputs = new Map(this.columns.map((column, i) => [column.name, this.input(column, `try-${i}`)]));
    return this.columns.map((column, i) => {
      const text = shortened(column.name, 60);
      const hint = make("span", { class: "kind" }, ` ${shortened(column.what ?? "", 30)}`);
      const wrong = make("p", { id: `try-${i}-wrong`, class: "wrong" });
      const label = make("label", { for: `try-${i}` }, text, hint);
      return make("div", { class: "field" }, label, this.inputs.get(column.name), wrong);
    });
  }

  input(column, id) {
    const choices = kindOf(column) === "switch" ? ["true", "false"] : (column.values ?? null);
    const common = { id, "aria-describedby": `${id}-wrong` };
    const options = (choices ?? []).map((value) => make("option", { value: plain(value) }, plain(value)));
    const none = make("option", { value: "" }, "missing");
    const input = choices
      ? make("select", common, none, options)
      : make("input", { ...common, type: "text", autocomplete: "off", spellcheck: "false" });
    input.value = this.typed.get(column.name) ?? "";
    input.addEventListener("input", () => {
      this.typed.set(column.name, input.value);
      this.mark(input, "");
      this.result.classList.add("old");
    });
    return input;
  }

  fill(values) {
    for (const [name, input] of this.inputs) {
      const value = Object.hasOwn(values, name) ? values[name] : null;
      input.value = value === null ? "" : plain(value);
      this.typed.set(name, input.value);
      this.mark(input, "");
    }
    this.result.replaceChildren();
  }

  mark(input, text) {
    input.toggleAttribute("aria-invalid", text !== "");
    find(`${input.id}-wrong`).textContent = text;
  }

  async predict() {
    const value = (column) => parsed(kindOf(column), this.typed.get(column.name) ?? "");
    const row = Object.fromEntries(this.columns.map((column) => [column.name, value(column)]));
    const asked = this.model.says_proba ? "?proba" : this.model.says_std ? "?std" : "";
    const mine = (this.turn = {}); // an answer that comes late must not replace a newer one
    const options = {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(row),
    };
    try {
      const answer = await askJson(`${this.base}predict${asked}`, options);
      if (this.turn === mine) this.answer(answer);
    } catch (error) {
      if (this.turn === mine)
        this.refuse(error instanceof Refused ? error : new Refused(0, "The answer could not be read."));
    }
  }

  refuse(error) {
    const input = this.inputs.get(error.field);
    this.result.replaceChildren(...(input ? [] : [make("p", { class: "wrong" }, error.message)]));
    if (!input) return;
    this.mark(input, error.message);
    input.focus();
  }

  answer({ prediction, std, interval, proba }) {
    this.result.classList.remove("old");
    const known = prediction !== null && prediction !== undefined;
    const text = typeof prediction === "number" ? number(prediction) : plain(prediction);
    const lines = [make("p", { class: "eyebrow" }, "Prediction")];
    lines.push(known ? make("p", { class: "big" }, text) : make("p", {}, "None: nothing was learned yet."));
    if (interval) lines.push(make("p", {}, `90 % interval: ${interval.map((x) => number(x)).join(" to ")}`));
    if (typeof std === "number") lines.push(make("p", { class: "muted" }, `standard deviation ${number(std)}`));
    if (proba) lines.push(...this.shares(proba));
    lines.push(make("p", { class: "note changed" }, "The row was changed since."));
    this.result.replaceChildren(...lines);
  }

  /** Probabilities, the most likely first. */
  shares(proba) {
    const sorted = Object.entries(proba).sort(([, a], [, b]) => b - a);
    const rest = sorted.length - CLASSES_SHOWN;
    const note = rest > 0 ? [make("p", { class: "note" }, `and ${counted(rest, "class", "classes")} more`)] : [];
    return [bars(sorted.slice(0, CLASSES_SHOWN), 1, percent), ...note];
  }
}
