// The time-sequence plot of one connection: data as bars, the ACK and window lines, stalls shaded and named.

const NONE = null;

/** What of a connection's packets belongs to one direction: columns for uPlot, and the packets themselves. */
function sequenceColumns(points, way) {
  const shown = points.filter((it) => (it.way === way ? it.to > it.from || it.bits & (BIT.syn | BIT.fin | BIT.rst) : it.ack !== NONE));
  const isData = (it) => it.way === way;
  return {
    points: shown,
    data: [
      shown.map((it) => it.at / 1e6),
      shown.map((it) => (isData(it) && !(it.bits & BIT.again) ? it.to : NONE)),
      shown.map((it) => (isData(it) && it.bits & BIT.again ? it.to : NONE)),
      shown.map((it) => (isData(it) ? NONE : it.ack)),
      shown.map((it) => (isData(it) ? NONE : it.edge)),
    ],
  };
}

class SequencePlot {
  constructor(timeline, onDirection) {
    Object.assign(this, { timeline, connection: 0, way: 1, plot: null, columns: null, stalls: [], fitsWindow: false });
    this.says = element("output", { class: "says", "aria-live": "polite" });
    this.zoom = zoomButtons(() => this.plot, () => this.whole());
    const directions = DIRECTIONS.map((name, way) => [String(way), name]);
    this.direction = choice("Data", directions, (value) => {
      this.way = Number(value);
      this.load();
      onDirection();
    });
    const box = element("input", { type: "checkbox", on: { change: () => this.fitWindow(box.checked) } });
    const fits = element("label", {}, box, " whole window");
    this.frame = element("div", {
      class: "frame",
      tabindex: "0",
      role: "application",
      "aria-label": `Time-sequence plot. ${zoomKeys("packet")}`,
      on: { keydown: (event) => handleZoomKey(event, this.zoom.act, (by) => this.step(by)) },
    });
    const help = element("p", { class: "help" }, `Drag to zoom, double-click to show all; with the keyboard: ${zoomKeys("packet")}.`);
    this.shown = element("span", { class: "shown count", role: "status" });
    const tools = element("div", { class: "toolbar" }, this.direction.label, fits, this.zoom.buttons, this.shown);
    this.element = element("div", { class: "sequence" }, tools, this.frame, this.says, help);
    onResize(this.frame, () => this.draw());
    onColours(() => this.draw());
  }

  /** Shows a connection, in the direction that has more data unless `way` says which. */
  show(connection, way) {
    this.connection = connection;
    this.packets = this.timeline.points(connection);
    const bytes = [0, 0];
    for (const it of this.packets) bytes[it.way] = Math.max(bytes[it.way], it.to);
    this.way = way ?? (bytes[0] > bytes[1] ? 0 : 1);
    this.direction.select.value = String(this.way);
    this.load();
  }

  load() {
    this.columns = sequenceColumns(this.packets, this.way);
    const spans = this.timeline.exchangesOf(this.connection).flatMap((it) => it.spans());
    this.stalls = spans.filter((it) => it.way === this.way && it.exact && !this.timeline.pathDelays.has(it.cause));
    this.draw();
  }

  /** Puts a time, in microseconds, in the middle half of the plot. */
  focus(from, length) {
    const margin = Math.max(length / 2, 50);
    const [least, most] = this.whole();
    setRange(this.plot, Math.max(least, (from - margin) / 1e6), Math.min(most, (from + length + margin) / 1e6));
  }

  whole() {
    const x = this.columns.data[0];
    const [from, to] = x.length > 0 ? [x[0], x[x.length - 1]] : [0, 1];
    const margin = (to - from) * 0.02 || 0.001;
    return [from - margin, to + margin];
  }

  fitWindow(fits) {
    this.fitsWindow = fits;
    this.draw(true);
  }

  draw(keeps = false) {
    if (!this.columns || this.frame.clientWidth === 0) return;
    const range = keeps && this.plot ? this.plot.scales.x : null;
    this.plot?.destroy();
    this.plot = new uPlot(this.options(), this.columns.data, this.frame);
    setRange(this.plot, ...(range ? [range.min, range.max] : this.whole()));
    legendByKey(this.plot);
  }

  options() {
    const line = (label, name, more) => ({ label, stroke: colour(name), width: 1.5, points: { show: false }, ...more });
    const steps = { paths: uPlot.paths.stepped({ align: 1 }), spanGaps: true };
    const bars = (u, series, first, last) => this.bars(u, series, first, last);
    return {
      width: this.frame.clientWidth,
      height: plotHeight(this.frame),
      scales: { x: { time: false }, y: { range: (u) => this.heights(...u.series[0].idxs) } },
      axes: [axis("seconds since the first packet"), axis("bytes in the stream", { size: 80, values: (u, ticks) => ticks.map(grouped) })],
      legend: { live: false },
      cursor: { drag: { x: true, y: false }, points: { show: false } },
      series: [
        { label: "time" },
        line("data", "data", { paths: bars, width: 2 }),
        line("retransmitted", "again", { paths: bars, width: 4 }),
        line("acknowledged", "ack", steps),
        line("window", "window", { ...steps, dash: [6, 4], auto: false }),
      ],
      hooks: {
        setScale: [(u, scale) => scale === "x" && this.sayRange(u.scales.x)],
        drawAxes: [(u) => this.shade(u)],
        draw: [(u) => this.name(u)],
        setCursor: [(u) => this.say(u.cursor.idx)],
      },
    };
  }

  /** The data and the ACK line fill the height; the window line does when it is near or asked for. */
  heights(first, last) {
    let [low, high, edge] = [Infinity, 0, 0];
    for (const it of this.columns.points.slice(first ?? 0, (last ?? -1) + 1)) {
      const isData = it.way === this.way;
      low = Math.min(low, isData ? it.from : it.ack);
      high = Math.max(high, isData ? it.to : it.ack);
      if (!isData) edge = Math.max(edge, it.edge ?? 0);
    }
    if (low > high) return [0, 1];
    if (this.fitsWindow || edge - low < (high - low) * 2) high = Math.max(high, edge);
    const margin = (high - low) * 0.06 || 1;
    return [low - margin, high + margin * 2];
  }

  /** Each segment as a bar from its first byte to its last. */
  bars(u, series, first, last) {
    const path = new Path2D();
    const ends = this.columns.data[series];
    for (let place = first; place <= last; place += 1) {
      if (ends[place] === NONE) continue;
      const { at, from, to } = this.columns.points[place];
      const x = Math.round(u.valToPos(at / 1e6, "x", true));
      const [bottom, top] = [u.valToPos(from, "y", true), u.valToPos(to, "y", true)];
      path.moveTo(x, bottom);
      path.lineTo(x, Math.min(top, bottom - 3 * devicePixelRatio)); // one byte is seen, too
    }
    return { stroke: path, fill: null, flags: 0 };
  }

  /** The stalls behind all else. */
  shade(u) {
    const { ctx } = u;
    ctx.save();
    for (const stall of this.stallsIn(u)) {
      ctx.fillStyle = colour(stall.cause);
      ctx.globalAlpha = 0.3;
      ctx.fillRect(stall.left, u.bbox.top, Math.max(stall.width, 1), u.bbox.height);
    }
    ctx.restore();
  }

  /** The names of the stalls, where they have room. */
  name(u) {
    const { ctx } = u;
    ctx.save();
    ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
    ctx.fillStyle = colour("text");
    ctx.textAlign = "center";
    for (const { cause, length, left, width } of this.stallsIn(u)) {
      const label = [`${cause} ${duration(length)}`, cause].find((it) => ctx.measureText(it).width < width - 4);
      if (label) ctx.fillText(label, left + width / 2, u.bbox.top + 16 * devicePixelRatio);
    }
    ctx.restore();
  }

  /** The stalls that are seen, cut at the plot's edges, in pixels of the canvas. */
  stallsIn(u) {
    const [least, most] = [u.bbox.left, u.bbox.left + u.bbox.width];
    const placed = this.stalls.map((it) => {
      const left = Math.max(least, u.valToPos(it.from / 1e6, "x", true));
      const right = Math.min(most, u.valToPos((it.from + it.length) / 1e6, "x", true));
      return { ...it, left, width: right - left };
    });
    return placed.filter((it) => it.width > 0);
  }

  /** Moves the cursor on by a packet. */
  step(by) {
    const { points } = this.columns;
    const { min, max } = this.plot.scales.x;
    const seen = points.findIndex((it) => it.at / 1e6 >= min && it.at / 1e6 <= max);
    const before = this.plot.cursor.idx;
    const next = before === null || before === undefined ? seen : before + by;
    const point = points[next];
    if (!point) return;
    const at = point.at / 1e6;
    if (at < min || at > max) setRange(this.plot, min + (at - (min + max) / 2), max + (at - (min + max) / 2));
    const top = this.plot.valToPos(point.way === this.way ? point.to : point.ack, "y");
    this.plot.setCursor({ left: this.plot.valToPos(at, "x"), top }, false);
    this.plot.cursor.idx = next; // several packets may share a place
    this.say(next);
  }

  sayRange({ min, max }) {
    this.shown.textContent = `${seconds(Math.max(0, min) * 1e6)} to ${seconds(max * 1e6)}`;
  }

  /** Says which packet is under the cursor, and in which stall. */
  say(place) {
    const point = this.columns.points[place];
    this.says.textContent = point ? this.describe(point) : "";
  }

  describe(point) {
    const { at, packet, bits, from, to, ack, edge } = point;
    const stall = this.stalls.find((it) => it.from <= at && at <= it.from + it.length);
    const flags = [[BIT.syn, "SYN"], [BIT.fin, "FIN"], [BIT.rst, "RST"]].filter(([bit]) => bits & bit).map(([, name]) => name);
    const isData = point.way === this.way;
    return [
      `packet ${packet}`,
      seconds(at),
      ...flags,
      isData ? `seq ${grouped(from)} to ${grouped(to)}, length ${grouped(to - from)}` : `ack ${grouped(ack)}`,
      ...(bits & BIT.again ? ["retransmitted"] : []),
      ...(!isData && edge !== NONE ? [`window ${grouped(edge - ack)}`] : []),
      ...(stall ? [`in ${stall.cause}, ${duration(stall.length)}${doubtOf(stall)}`] : []),
    ].join(" · ");
  }
}
