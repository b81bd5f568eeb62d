// The form that predicts a row.

import { Refused, askJson } from "./client.js";
import {
  count,
  counted,
  digitsFor,
  drawn,
  find,
  make,
  number,
  percent,
  plain,
  shortened,
  write,
} from "./elements.js";

const FIELDS_SHOWN = 50;
const MOST_OPTIONS = 1000;
const CLASSES_SHOWN = 8;
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;

const isUnused = (column) => /^(ignored|not used|unused)\b/.test(column.what ?? "");
const kindOf = (column) => {
  const what = column.what ?? "";
  if (what.startsWith("true or false")) return "switch";
  if (/^\d+ numbers/.test(what)) return "vector";
  return /^number\b/.test(what) ? "number" : "text";
};

/** What was typed, as JSON. What is no number is sent as text: the server says what it reads. */
export function parsed(kind, text) {
  text = text.trim();
  if (text === "") return null;
  if (kind === "switch") return text === "true";
  if (kind === "vector") {
    const parts = text
      .replace(/^\[|\]$/g, "")
      .split(/[\s,;]+/)
      .filter(Boolean);
    return parts.every((part) => NUMBER.test(part)) ? parts.map(Number) : text;
  }
  const value = Number(text);
  return kind === "number" && NUMBER.test(text) && Number.isFinite(value) ? value : text;
}

export class TryRow {
  constructor(newestValues) {
    this.newestValues = newestValues; // () -> the values of the newest row, or null
    this.form = find("try-form");
    this.result = find("try-result");
    this.typed = new Map(); // by column, also of fields that are not shown
    this.key = null;
    this.form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.predict();
    });
  }

  /** Another model: nothing that was typed or answered belongs to it. */
  forget() {
    this.typed.clear();
    this.key = null;
    this.model = null;
    this.result.replaceChildren();
    this.form.replaceChildren();
  }

  setModel(model, base) {
    if (model === this.model && base === this.base) return;
    Object.assign(this, { model, base });
    const columns = (model.columns ?? []).filter((column) => !isUnused(column));
    const key = JSON.stringify(columns);
    if (key === this.key) return;
    this.key = key;
    this.columns = columns;
    this.limit = FIELDS_SHOWN;
    const focused = document.activeElement?.dataset?.column;
    this.build();
    if (focused !== undefined) this.focus(focused);
  }

  build() {
    if (!this.columns.length) {
      this.form.replaceChildren(
        make("p", { class: "muted" }, "The columns are known after the first row that is learned."),
      );
      return;
    }
    this.fields = make("div", { class: "fields" });
    this.more = make("p", { class: "note more" });
    this.filled = make("p", { class: "note filled", role: "status" });
    const fill = make("button", { type: "button", class: "quiet" }, "Use the newest row");
    fill.addEventListener("click", () => this.fill());
    const clear = make("button", { type: "button", class: "quiet" }, "Clear");
    clear.addEventListener("click", () => {
      this.typed.clear();
      this.showFields();
      write(this.filled, "");
      this.result.replaceChildren();
    });
    const filter = this.columns.length > FIELDS_SHOWN ? this.makeFilter() : null;
    this.form.replaceChildren(
      ...[filter, this.fields, this.more].filter(Boolean),
      make("div", { class: "buttons" }, make("button", { type: "submit" }, "Predict"), fill, clear),
      this.filled,
    );
    this.showFields();
  }

  makeFilter() {
    this.filter = make("input", {
      id: "try-filter",
      type: "search",
      autocomplete: "off",
      spellcheck: "false",
    });
    this.filter.addEventListener("input", () => {
      this.limit = FIELDS_SHOWN;
      this.showFields();
    });
    return make(
      "div",
      { class: "field" },
      make("label", { for: "try-filter" }, `Find one of ${count(this.columns.length)} columns`),
      this.filter,
    );
  }

  showFields() {
    const wanted = (this.columns.length > FIELDS_SHOWN ? this.filter.value : "").trim().toLowerCase();
    const matching = this.columns.filter((column) => column.name.toLowerCase().includes(wanted));
    const some = matching.slice(0, this.limit);
    this.fields.replaceChildren(...some.map((column) => this.field(column)));
    const rest = matching.length - some.length;
    this.more.hidden = matching.length > 0 && rest === 0;
    if (!matching.length) this.more.replaceChildren("No column has this in its name.");
    else if (rest) {
      const button = make(
        "button",
        { type: "button", class: "quiet" },
        `Show ${count(Math.min(rest, FIELDS_SHOWN))} more`,
      );
      button.addEventListener("click", () => {
        const next = matching[this.limit].name;
        this.limit += FIELDS_SHOWN;
        this.showFields();
        this.focus(next);
      });
      this.more.replaceChildren(`${counted(rest, "column is", "columns are")} not shown. `, button);
    }
  }

  field(column) {
    const at = this.columns.indexOf(column);
    const id = `try-${at}`;
    const kind = kindOf(column);
    const typed = this.typed.get(column.name) ?? "";
    const common = { id, "data-column": column.name, "aria-describedby": `${id}-wrong` };
    let input;
    let options = null;
    if (kind === "switch") {
      input = make(
        "select",
        common,
        ["", "true", "false"].map((value) => make("option", { value }, value || "missing")),
      );
    } else {
      input = make("input", {
        ...common,
        type: "text",
        autocomplete: "off",
        spellcheck: "false",
        inputmode: kind === "number" ? "decimal" : null,
      });
      if (column.values?.length) {
        options = make(
          "datalist",
          { id: `${id}-values` },
          column.values.slice(0, MOST_OPTIONS).map((value) => make("option", { value: plain(value) })),
        );
        input.setAttribute("list", options.id);
      }
    }
    input.value = typed;
    input.addEventListener("input", () => {
      this.typed.set(column.name, input.value);
      this.mark(input, "");
      this.result.classList.add("old");
    });
    return make(
      "div",
      { class: "field" },
      make(
        "label",
        { for: id, title: column.name.length > 60 ? column.name : null },
        shortened(column.name, 60),
        make("span", { class: "kind" }, ` ${this.hint(column, kind)}`),
      ),
      input,
      options,
      make("p", { id: `${id}-wrong`, class: "wrong" }),
    );
  }

  hint(column, kind) {
    const what = column.what ?? "";
    if (kind === "number") return "number";
    if (column.values?.length) return counted(column.values.length, "known value", "known values");
    return shortened(what.split(/[:,]/)[0], 40);
  }

  fieldOf(name) {
    return [...this.fields.querySelectorAll("[data-column]")].find((input) => input.dataset.column === name);
  }

  /** Go on typing where a field was made anew. */
  focus(name) {
    const input = this.fieldOf(name);
    input?.focus();
    input?.setSelectionRange?.(input.value.length, input.value.length);
  }

  mark(input, text) {
    input.toggleAttribute("aria-invalid", false);
    if (text) input.setAttribute("aria-invalid", "true");
    find(`${input.id}-wrong`).textContent = text;
  }

  fill() {
    const values = this.newestValues();
    if (!values) {
      write(this.filled, "No row has come since the server was started.");
      return;
    }
    let known = 0;
    for (const column of this.columns) {
      const value = Object.hasOwn(values, column.name) ? values[column.name] : undefined;
      if (value !== undefined) known += 1;
      this.typed.set(column.name, value === null || value === undefined ? "" : plain(value));
    }
    this.showFields();
    // The server shows some columns of a row only.
    const n = this.columns.length;
    write(this.filled, known < n ? `${count(known)} of ${counted(n, "column", "columns")} filled in.` : "");
    this.result.classList.add("old");
  }

  async predict() {
    for (const input of this.fields?.querySelectorAll("[aria-invalid]") ?? []) this.mark(input, "");
    const row = Object.fromEntries(
      this.columns.map((column) => [column.name, parsed(kindOf(column), this.typed.get(column.name) ?? "")]),
    );
    const asked = this.model.says_proba ? "?proba" : this.model.says_std ? "?std" : "";
    const mine = (this.turn = {}); // an answer that comes late must not replace a newer one
    try {
      const answer = await askJson(`${this.base}predict${asked}`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify(row),
      });
      if (this.turn === mine) this.answer(answer);
    } catch (error) {
      if (this.turn === mine)
        this.refuse(error instanceof Refused ? error : new Refused(0, "The answer could not be read."));
    }
  }

  refuse(error) {
    this.result.classList.remove("old");
    const column = this.columns.find((each) => each.name === error.field);
    if (column && !this.fieldOf(column.name)) {
      this.filter.value = column.name;
      this.showFields();
    }
    const input = column ? this.fieldOf(column.name) : null;
    this.result.replaceChildren(...(input ? [] : [make("p", { class: "wrong" }, error.message)]));
    if (input) {
      this.mark(input, error.message);
      input.focus();
    }
  }

  answer({ prediction, std, interval, proba }) {
    this.result.classList.remove("old");
    const lines = [make("p", { class: "eyebrow" }, "Prediction")];
    if (prediction === null || prediction === undefined) {
      lines.push(make("p", {}, "None: nothing was learned yet."));
    } else if (this.model.task === "classification") {
      lines.push(make("p", { class: "big" }, plain(prediction)));
      if (proba) lines.push(...this.shares(proba));
    } else {
      const digits = interval ? digitsFor([prediction, ...interval], (interval[1] - interval[0]) / 10) : 4;
      lines.push(
        make(
          "p",
          { class: "big", title: String(prediction) },
          typeof prediction === "number" ? number(prediction, digits) : plain(prediction),
        ),
      );
      if (interval)
        lines.push(
          make("p", {}, `90 % interval: ${number(interval[0], digits)} to ${number(interval[1], digits)}`),
        );
      if (typeof std === "number")
        lines.push(make("p", { class: "muted" }, `standard deviation ${number(std)}`));
    }
    lines.push(make("p", { class: "note changed" }, "The row was changed since."));
    this.result.replaceChildren(...lines);
  }

  /** Probabilities as bars, the most likely first. */
  shares(proba) {
    const sorted = Object.entries(proba).sort(([, a], [, b]) => b - a);
    const row = ([label, share]) =>
      make(
        "tr",
        {},
        make("th", { scope: "row" }, shortened(label, 200)),
        make(
          "td",
          { class: "bar" },
          drawn(
            "svg",
            { viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
            drawn("rect", { class: "rail", width: 100, height: 8 }),
            drawn("rect", { class: "share", width: Math.min(Math.max(100 * share, 0), 100), height: 8 }),
          ),
        ),
        make("td", {}, share < 1e-4 && share > 0 ? "< 0.01 %" : percent(share)),
      );
    const table = (entries, caption) =>
      make(
        "table",
        { class: "shares" },
        make("caption", { class: "unseen" }, caption),
        make("tbody", {}, entries.map(row)),
      );
    const first = table(sorted.slice(0, CLASSES_SHOWN), "Probabilities, the most likely first");
    const rest = sorted.slice(CLASSES_SHOWN);
    if (!rest.length) return [first];
    const together = rest.reduce((sum, [, share]) => sum + share, 0);
    const details = make(
      "details",
      {},
      make(
        "summary",
        {},
        `${counted(rest.length, "other class", "other classes")}, together ${percent(together)}`,
      ),
    );
    details.addEventListener("toggle", () => {
      if (details.open && details.childElementCount === 1)
        details.append(
          make(
            "div",
            {
              class: "tall",
              tabindex: "0",
              role: "region",
              "aria-label": "Probabilities of the other classes",
            },
            table(rest, "The other classes"),
          ),
        );
    });
    return [first, details];
  }
}
