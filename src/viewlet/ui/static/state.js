// What the page knows, and who wants to hear when that changes.

export const state = {
  nodes: [], // of the graph, with places
  byId: new Map(),
  edges: [], // from, to, and the places where it enters the lanes of layers that it skips
  size: [228, 54],
  epoch: 0,
  may: { write: false, query: false },
  failed: new Set(),
  failures: 0,
  selected: null,
};

const listeners = new Map();

export function on(event, handle) {
  listeners.set(event, [...(listeners.get(event) ?? []), handle]);
}

export function tell(event, value) {
  for (const handle of listeners.get(event) ?? []) handle(value);
}

// What a node is doing: `failed`, `waiting` for something to pass on, `still` because nothing changes it, or `fresh`.
export function condition(node) {
  if (state.failed.has(node.id)) return "failed";
  if (node.waiting) return "waiting";
  if (node.static) return "still";
  return "fresh";
}

export const CONDITIONS = {
  failed: "the last epoch failed here",
  waiting: "changes wait to be passed on",
  still: "static",
  fresh: "fresh",
};

export const href = (id, tab) => `#/node/${encodeURIComponent(id)}${tab ? `/${tab}` : ""}`;
