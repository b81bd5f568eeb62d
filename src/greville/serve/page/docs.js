// The endpoints, from the server's own OpenAPI description.

import { Refused, askJson, hasToken } from "./client.js";
import { code, counted, curl, find, listed, make, plain, write } from "./elements.js";

const METHODS = ["get", "post", "put", "patch", "delete"];
const EACH = "/models/{name}"; // what paths start with where there are several models
const DEEPEST = 3; // of examples that are made from schemas, which may contain themselves

let spec = {};

/** What a `$ref` points to, within the same file. */
function resolved(value, steps = 0) {
  if (!value?.$ref || steps > DEEPEST) return value ?? {};
  const keys = value.$ref
    .replace(/^#\//, "")
    .split("/")
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
  return resolved(
    keys.reduce((found, key) => found?.[key], spec),
    steps + 1,
  );
}

/** A schema in a few words: "text", "a number or null", "a list of objects". */
function inWords(schema, depth = 0) {
  const found = resolved(schema);
  const choices = found.anyOf ?? found.oneOf;
  if (depth > 2) return "anything";
  if (found.const !== undefined) return JSON.stringify(found.const);
  if (found.enum) return `one of ${listed(found.enum, 8)}`;
  if (choices) return [...new Set(choices.map((each) => inWords(each, depth + 1)))].join(" or ");
  if (Array.isArray(found.type))
    return found.type.map((type) => inWords({ ...found, type }, depth + 1)).join(" or ");
  const names = {
    string: "text",
    number: "a number",
    integer: "a whole number",
    boolean: "true or false",
    null: "null",
  };
  if (names[found.type]) return names[found.type];
  if (found.type === "array")
    return found.items
      ? `a list of ${inWords(found.items, depth + 1).replace(/^an? (.*)$/, "$1s")}`
      : "a list";
  return found.type === "object" || found.properties ? "an object" : "anything";
}

/** A value that a schema allows, where there is no example. */
function sample(schema, depth = 0) {
  const found = resolved(schema);
  if (found.example !== undefined) return found.example;
  if (found.examples?.length) return found.examples[0];
  if (found.default !== undefined) return found.default;
  if (found.const !== undefined) return found.const;
  if (found.enum) return found.enum[0];
  const choice = found.anyOf?.[0] ?? found.oneOf?.[0] ?? found.allOf?.[0];
  if (choice && depth < DEEPEST) return sample(choice, depth + 1);
  if (found.type === "object" || found.properties) {
    const entries = depth < DEEPEST ? Object.entries(found.properties ?? {}) : [];
    return Object.fromEntries(entries.map(([name, each]) => [name, sample(each, depth + 1)]));
  }
  if (found.type === "array") return found.items && depth < DEEPEST ? [sample(found.items, depth + 1)] : [];
  return { string: "text", number: 1.5, integer: 1, boolean: true }[found.type] ?? null;
}

/** The examples of a body, as `{title, value}`; one that is made up where there is none. */
function examplesOf(content) {
  const many = Object.entries(content.examples ?? {}).map(([name, example]) => {
    const found = resolved(example);
    return { title: found.summary ?? name, value: found.value };
  });
  if (many.length) return many;
  if (content.example !== undefined) return [{ title: "", value: content.example }];
  const made = sample(content.schema);
  const says = typeof made === "object" && made !== null && Object.keys(made).length;
  return says ? [{ title: "", value: made }] : [];
}

const written = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

/** Text with `code` in backquotes and blank lines between paragraphs, and no other markup. */
function prose(text) {
  return text
    .trim()
    .split(/\n\s*\n/)
    .map((paragraph) =>
      make(
        "p",
        {},
        paragraph.split(/`([^`]+)`/).map((part, i) => (i % 2 ? make("code", {}, part) : part)),
      ),
    );
}

const heading = (text) => make("h3", {}, text);

function parametersOf(operation, shared) {
  const all = [...(shared ?? []), ...(operation.parameters ?? [])].map((each) => resolved(each));
  if (!all.length) return [];
  const row = (parameter) =>
    make(
      "tr",
      {},
      make("th", { scope: "row" }, make("code", {}, plain(parameter.name))),
      make("td", {}, `${parameter.in}${parameter.required ? ", required" : ""}`),
      make("td", {}, inWords(parameter.schema)),
      make("td", {}, parameter.description ? prose(parameter.description) : ""),
    );
  const names = ["Name", "Where", "Type", "What"].map((name) => make("th", { scope: "col" }, name));
  return [
    heading("Parameters"),
    make(
      "div",
      { class: "wide", tabindex: "0", role: "region", "aria-label": "Parameters" },
      make(
        "table",
        { class: "docs-table" },
        make("thead", {}, make("tr", {}, names)),
        make("tbody", {}, all.map(row)),
      ),
    ),
  ];
}

function bodyOf(operation) {
  const body = resolved(operation.requestBody);
  const kinds = Object.entries(body.content ?? {});
  if (!kinds.length) return [];
  const parts = [heading("Body")];
  if (body.description) parts.push(...prose(body.description));
  for (const [type, content] of kinds) {
    parts.push(make("p", { class: "note" }, make("code", {}, type), `: ${inWords(content.schema)}`));
    for (const { title, value } of examplesOf(content)) {
      if (title) parts.push(make("p", { class: "example-title" }, title));
      parts.push(code(written(value), `Example of a body, ${type}`));
    }
  }
  return parts;
}

function responsesOf(operation) {
  const all = Object.entries(operation.responses ?? {});
  if (!all.length) return [];
  const parts = [heading("Answers")];
  for (const [status, response] of all) {
    const found = resolved(response);
    const good = status.startsWith("2");
    parts.push(
      make(
        "p",
        { class: "response" },
        make("span", { class: `tag ${good ? "good" : "bad"}` }, status),
        " ",
        plain(found.description || ""),
      ),
    );
    for (const [type, content] of Object.entries(found.content ?? {})) {
      for (const { title, value } of examplesOf(content)) {
        if (title) parts.push(make("p", { class: "example-title" }, title));
        parts.push(code(written(value), `Example of answer ${status}, ${type}`));
      }
    }
  }
  return parts;
}

function commandOf(method, path, operation, shared) {
  const parameters = [...(shared ?? []), ...(operation.parameters ?? [])].map((each) => resolved(each));
  const value = (parameter) =>
    parameter.example ?? resolved(parameter.schema).example ?? parameter.name.toUpperCase();
  let target = path.replace(/^\//, "");
  for (const parameter of parameters.filter((each) => each.in === "path"))
    target = target.replace(`{${parameter.name}}`, encodeURIComponent(value(parameter)));
  const query = parameters
    .filter((each) => each.in === "query" && each.required)
    .map((each) => `${encodeURIComponent(each.name)}=${encodeURIComponent(value(each))}`);
  if (query.length) target += `?${query.join("&")}`;
  const [type, content] = Object.entries(resolved(operation.requestBody).content ?? {})[0] ?? [];
  const example = content ? examplesOf(content)[0] : undefined;
  const body =
    example === undefined
      ? null
      : typeof example.value === "string"
        ? example.value
        : JSON.stringify(example.value);
  const isOpen = Array.isArray(operation.security) && !operation.security.length;
  const secured = !isOpen && (hasToken() || (operation.security ?? spec.security ?? []).length > 0);
  return curl({ path: target, method: method.toUpperCase(), body, type, token: secured });
}

function endpoint({ id, method, path, operation, shared, several }) {
  return make(
    "article",
    { class: "card endpoint", id, "aria-labelledby": `${id}-title`, tabindex: "-1" },
    make(
      "h2",
      { id: `${id}-title` },
      make("span", { class: `method ${method}` }, method.toUpperCase()),
      " ",
      make("code", {}, path),
    ),
    operation.summary ? make("p", { class: "summary" }, operation.summary) : null,
    operation.description && operation.description !== operation.summary
      ? prose(operation.description)
      : null,
    several ? make("p", { class: "note" }, "With several models: ", make("code", {}, EACH + path)) : null,
    operation.deprecated ? make("p", { class: "wrong" }, "Deprecated.") : null,
    heading("Command"),
    code(commandOf(method, path, operation, shared), `A command for ${method.toUpperCase()} ${path}`),
    parametersOf(operation, shared),
    bodyOf(operation),
    responsesOf(operation),
  );
}

function show(found) {
  if (typeof found?.paths !== "object") throw new TypeError("no paths");
  spec = found;
  const info = found.info ?? {};
  const { paths } = found;
  const has = (path, method) => paths[path]?.[method] !== undefined;
  // A path that is there for one model and for several is shown once.
  const isSecond = (path, method) => path.startsWith(`${EACH}/`) && has(path.slice(EACH.length), method);
  const all = Object.entries(paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method] && !isSecond(path, method)).map((method) => ({
      method,
      path,
      operation: item[method],
      shared: item.parameters,
      several: has(EACH + path, method),
    })),
  );
  all.sort((a, b) => b.several - a.several); // those of models before those of the server
  all.forEach((each, i) => (each.id = `endpoint-${i + 1}`));
  write(find("docs-title"), plain(info.title ?? "API"));
  const lead = [
    info.description?.split("\n")[0],
    info.version ? `Version ${info.version}.` : null,
    `${counted(all.length, "endpoint", "endpoints")}.`,
  ];
  write(find("docs-lead"), lead.filter(Boolean).join(" "));
  const link = ({ id, method, path, operation }) =>
    make(
      "li",
      {},
      make(
        "a",
        { href: `#${id}` },
        make("span", { class: `method ${method}` }, method.toUpperCase()),
        " ",
        make("code", {}, path),
      ),
      operation.summary ? make("span", { class: "muted" }, ` ${operation.summary}`) : null,
    );
  find("contents-list").replaceChildren(...all.map(link));
  find("endpoints").replaceChildren(...all.map(endpoint));
  find("board").hidden = false;
  // The browser looked for the place before there was one.
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

async function load() {
  try {
    show(await askJson("openapi.json"));
    find("trouble").hidden = true;
    find("raw").hidden = hasToken(); // a link sends no token
  } catch (error) {
    const reason = error instanceof Refused ? error.message : "The description of the API could not be read.";
    const again = make("button", { type: "button", class: "quiet" }, "Try again");
    again.addEventListener("click", load);
    find("trouble").replaceChildren(`${reason} `, again);
    find("trouble").hidden = false;
  }
}

load();
