// Asking the server. An error has the server's words and, if there is one, its hint.

export class Refused extends Error {
  constructor(found) {
    super(found.error ?? "the server does not answer");
    this.hint = found.hint;
  }
}

async function answer(response) {
  const found = await response.json().catch(() => ({}));
  if (!response.ok) throw new Refused(found);
  return found;
}

const address = (path, parameters) => `/api/${path}?${new URLSearchParams(parameters ?? {})}`;

export const get = (path, parameters) => fetch(address(path, parameters)).then(answer, () => { throw new Refused({}); });

export const post = (path, parameters, body) =>
  fetch(address(path, parameters), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body ?? {}),
  }).then(answer, () => { throw new Refused({}); });

// Epochs as they come, and the changes of a table or view; the browser connects again by itself.
export function events(parameters, handlers) {
  const source = new EventSource(address("events", parameters));
  for (const [kind, handle] of Object.entries(handlers)) {
    if (kind === "state") {
      source.onopen = () => handle(true);
      source.onerror = () => handle(false);
    } else source.addEventListener(kind, (event) => handle(JSON.parse(event.data)));
  }
  return source;
}
