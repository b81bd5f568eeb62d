// Requests with the token, and the stream of events.

import { find, write } from "./elements.js";

const KEY = "greville-token";

/** An answer that is no success; status 0 where there was none. */
export class Refused extends Error {
  constructor(status, message, field = null) {
    super(message);
    this.status = status;
    this.field = field;
  }
}

let token = null;
try {
  token = sessionStorage.getItem(KEY);
} catch {
  // Storage may be switched off: the token is then asked for after each reload.
}

function keep(text) {
  token = text;
  try {
    sessionStorage.setItem(KEY, text);
  } catch {
    // As above.
  }
}

let asking = null; // one form for all requests that wait

function askForToken(wasWrong) {
  asking ??= new Promise((resolve) => {
    const [form, input, section] = [find("token-form"), find("token-input"), find("token")];
    section.hidden = false;
    document.body.classList.add("locked");
    write(find("token-wrong"), wasWrong ? "The server did not accept this token." : "");
    input.value = "";
    input.focus();
    form.onsubmit = (event) => {
      event.preventDefault();
      const text = input.value.trim();
      if (!/^[\x21-\x7e]+$/.test(text)) {
        write(find("token-wrong"), "A token has no spaces, and plain letters, digits and signs only.");
        return;
      }
      keep(text);
      section.hidden = true;
      document.body.classList.remove("locked");
      asking = null;
      resolve();
    };
  });
  return asking;
}

async function refusal(response) {
  try {
    const { error, field } = await response.json();
    if (typeof error === "string") return new Refused(response.status, error, field ?? null);
  } catch {
    // Not JSON: something between the server and here answered.
  }
  return new Refused(response.status, `The server answered with status ${response.status}.`);
}

/** The server's answer; where it wants a token, after the user has typed one. */
export async function ask(path, { headers = {}, ...options } = {}) {
  for (;;) {
    const used = token;
    const sent = used === null ? headers : { ...headers, Authorization: `Bearer ${used}` };
    let response;
    try {
      response = await fetch(path, { ...options, headers: sent, cache: "no-store" });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Refused(0, "The server cannot be reached.");
    }
    if (response.ok) return response;
    if (response.status !== 401) throw await refusal(response);
    if (token === used) await askForToken(used !== null);
  }
}

export const askJson = async (path, options) => (await ask(path, options)).json();

/** Server-sent events as `{event, data}`, until the stream ends. EventSource has no headers. */
export async function* events(path, signal) {
  const response = await ask(path, { signal, headers: { Accept: "text/event-stream" } });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let event = "message";
  let data = [];
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error) => {
        throw error.name === "AbortError" ? error : new Refused(0, "The connection broke.");
      });
      if (done) return;
      const lines = (rest + value).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop();
      for (const line of lines) {
        const [, field, text] = /^([^:]*):? ?(.*)$/s.exec(line);
        if (field === "event") event = text;
        else if (field === "data") data.push(text);
        else if (line === "") {
          if (data.length) yield { event, data: JSON.parse(data.join("\n")) };
          event = "message";
          data = [];
        }
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
