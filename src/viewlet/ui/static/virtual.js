// A list of which only the visible rows exist: ten thousand rows scroll as ten do.

import { h } from "./dom.js";

const BEYOND = 8; // rows above and below what is seen

export class VirtualList {
  constructor(box, height, render, { near = () => {} } = {}) {
    this.box = box;
    this.height = height;
    this.render = render;
    this.near = near; // told which row is the last one seen
    this.count = 0;
    this.shown = new Map();
    this.space = h("div", { class: "space", role: "presentation" });
    box.append(this.space);
    box.addEventListener("scroll", () => this.schedule(), { passive: true });
    new ResizeObserver(() => this.schedule()).observe(box);
  }

  schedule() {
    this.frame ??= requestAnimationFrame(() => { this.frame = null; this.draw(); });
  }

  // Show so many rows, all of them drawn anew.
  reset(count) {
    this.count = count;
    this.space.style.height = `${count * this.height}px`;
    this.shown.clear();
    this.space.replaceChildren();
    this.draw();
  }

  draw() {
    const first = Math.max(0, Math.floor(this.box.scrollTop / this.height) - BEYOND);
    const last = Math.min(this.count, Math.ceil((this.box.scrollTop + this.box.clientHeight) / this.height) + BEYOND);
    for (const [at, row] of this.shown) {
      if (at < first || at >= last) { row.remove(); this.shown.delete(at); }
    }
    for (let at = first; at < last; at++) {
      if (this.shown.has(at)) continue;
      const row = this.render(at);
      row.style.transform = `translateY(${at * this.height}px)`;
      this.shown.set(at, row);
      this.space.append(row);
    }
    this.near(last);
  }

  reveal(at) {
    const top = at * this.height;
    if (top < this.box.scrollTop) this.box.scrollTop = top;
    else if (top + this.height > this.box.scrollTop + this.box.clientHeight) this.box.scrollTop = top + this.height - this.box.clientHeight;
    this.draw();
  }
}
