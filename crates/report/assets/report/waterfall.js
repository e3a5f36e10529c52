// Exchanges one under the other, each a bar coloured by cause. Only the rows that are seen are elements: there may be 50,000.

const ROW = 26; // pixels, as in report.css
const ORDERS = {
  slowest: (one, other) => other.length - one.length || one.place - other.place,
  time: (one, other) => one.start - other.start || one.place - other.place,
};

class Waterfall {
  /** `onSelect` hears of the exchange that was chosen. */
  constructor(timeline, onSelect) {
    Object.assign(this, { timeline, onSelect, order: "slowest", cause: "", selected: 0, scheduled: false });
    this.rows = [];
    this.name = `waterfall-${(Waterfall.made = (Waterfall.made ?? 0) + 1)}`;
    this.inner = element("div", { class: "rows", role: "presentation" });
    this.range = element("div", { class: "range", "aria-hidden": "true" });
    this.count = element("span", { class: "count", role: "status" });
    this.list = element("div", {
      class: "list",
      role: "listbox",
      tabindex: "0",
      "aria-label": "Exchanges; arrow keys select, Enter shows the packets",
      on: {
        scroll: () => this.schedule(),
        keydown: (event) => this.handleKey(event),
        click: (event) => this.handleClick(event),
      },
    }, this.inner);
    this.element = element("div", { class: "waterfall" }, this.toolbar(), this.range, this.list);
    onResize(this.list, () => this.draw());
    this.arrange();
  }

  toolbar() {
    const orders = [["slowest", "slowest first"], ["time", "by start time"]];
    const order = choice("Order", orders, (value) => this.arrange({ order: value }));
    const causes = this.timeline.causes().map((cause) => [cause, cause]);
    const cause = choice("Filter by cause", [["", "any cause"], ...causes], (value) => this.arrange({ cause: value }));
    return element("div", { class: "toolbar" }, order.label, cause.label, this.count);
  }

  /** Another order, another choice of exchanges. */
  arrange(change = {}) {
    Object.assign(this, change);
    const { cause } = this;
    this.rows = this.timeline.exchanges.filter((it) => !cause || it.owedTo(cause) > 0).sort(ORDERS[this.order]);
    this.selected = 0;
    this.longest = this.rows.reduce((longest, it) => Math.max(longest, it.length), 1);
    this.count.textContent = `${grouped(this.rows.length)} of ${grouped(this.timeline.exchanges.length)} exchanges`;
    this.inner.style.height = `${this.rows.length * ROW}px`;
    this.list.scrollTop = 0;
    this.draw();
  }

  schedule() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      this.draw();
    });
  }

  /** Makes the rows that are seen, and one screen's worth around them. */
  draw() {
    const first = Math.max(0, Math.floor(this.list.scrollTop / ROW) - 4);
    const seen = this.rows.slice(first, first + Math.ceil(this.list.clientHeight / ROW) + 8);
    const [from, to] = this.scale(seen);
    this.range.textContent = this.order === "time" ? `${seconds(from)} to ${seconds(to)}` : `0 to ${duration(to)}`;
    this.inner.replaceChildren(...seen.map((it, place) => this.row(it, first + place, from, to)));
    this.list.setAttribute("aria-activedescendant", `${this.name}-${this.selected}`);
  }

  /** In the order of time the bars stand where they stood in time, and what is seen fills the width. */
  scale(seen) {
    if (this.order !== "time") return [0, this.longest];
    const from = Math.min(...seen.map((it) => it.start));
    const to = Math.max(...seen.map((it) => it.start + it.length), from + 1);
    return seen.length > 0 ? [from, to] : [0, 1];
  }

  row(exchange, place, from, to) {
    const origin = this.order === "time" ? from : exchange.start;
    const bar = element("span", { class: "track" });
    const unit = 100 / (to - from);
    for (const span of exchange.spans()) {
      const evidence = this.timeline.evidence(exchange.connection, span.packets);
      bar.append(segment(span, evidence, (span.from - origin) * unit, span.length * unit));
    }
    const main = exchange.shares().reduce((most, it) => (it.length > most.length ? it : most), { length: -1, cause: "" });
    const row = element(
      "div",
      {
        class: "row",
        id: `${this.name}-${place}`,
        role: "option",
        "aria-selected": String(place === this.selected),
        "aria-setsize": this.rows.length,
        "aria-posinset": place + 1,
        "aria-label": `${exchange.label}, ${duration(exchange.length)}, mostly ${main.cause}`,
        "data-place": place,
      },
      element("span", { class: "what", title: exchange.label }, exchange.label),
      element("span", { class: "long" }, duration(exchange.length)),
      bar,
    );
    row.style.top = `${place * ROW}px`;
    return row;
  }

  handleClick(event) {
    const row = event.target.closest(".row");
    if (row) this.select(Number(row.dataset.place), true);
  }

  handleKey(event) {
    const screen = Math.max(1, Math.floor(this.list.clientHeight / ROW) - 1);
    const last = this.rows.length - 1;
    const to = {
      ArrowDown: this.selected + 1,
      ArrowUp: this.selected - 1,
      PageDown: this.selected + screen,
      PageUp: this.selected - screen,
      Home: 0,
      End: last,
      Enter: this.selected,
    }[event.key];
    if (to === undefined || last < 0) return;
    event.preventDefault();
    this.select(Math.max(0, Math.min(last, to)), event.key === "Enter");
  }

  select(place, show) {
    this.selected = place;
    const { list } = this;
    const top = place * ROW;
    if (top < list.scrollTop) list.scrollTop = top;
    if (top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW - list.clientHeight;
    this.draw();
    if (show) this.onSelect(this.rows[place]);
  }
}

/** A piece of a bar; places and widths in percent. Its colour is the style sheet's. */
function segment(span, evidence, left, width) {
  const { cause, length, exact } = span;
  const title = `${cause} ${duration(length)}${exact ? "" : " in total"}${doubtOf(span)}${evidence}`;
  const piece = element("span", { class: `piece fill-${cause}`, title });
  piece.style.left = `${left}%`;
  piece.style.width = `${width}%`;
  if (width > 12) piece.textContent = cause;
  return piece;
}
