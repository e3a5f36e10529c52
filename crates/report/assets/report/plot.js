// Lines over an axis.

/** Draws a plot of `{title, x, y, lines: [{name, style, hue, points}], left_out}` into `host`. */
function drawPlot(host, drawn) {
  host.append(new LinePlot(drawn).element);
}

class LinePlot {
  constructor({ title, x, y, lines, left_out: leftOut }) {
    Object.assign(this, { title, x, y, lines, plot: null, data: mergeLines(lines) });
    this.says = element("output", { class: "says", "aria-live": "polite" });
    this.zoom = zoomButtons(() => this.plot, () => this.whole());
    this.frame = element("div", {
      class: "frame",
      tabindex: "0",
      role: "application",
      "aria-label": `${title}. ${zoomKeys("point")}`,
      on: { keydown: (event) => handleZoomKey(event, this.zoom.act, (by) => this.step(by)) },
    });
    this.shown = element("span", { class: "shown count", role: "status" });
    const tools = element("div", { class: "toolbar" }, this.zoom.buttons, this.shown);
    const caption = element("figcaption", {}, title);
    const note = element("p", { class: "help" }, notDrawn(leftOut));
    this.element = element("figure", {}, caption, this.frame, this.says, tools, note);
    onResize(this.frame, () => this.draw());
    onColours(() => this.draw());
  }

  whole() {
    const x = this.data[0];
    const [from, to] = x.length > 0 ? [x[0], x[x.length - 1]] : [0, 1];
    const margin = (to - from) * 0.02 || 0.001;
    return [from - margin, to + margin];
  }

  draw() {
    if (this.frame.clientWidth === 0) return;
    this.plot?.destroy();
    this.plot = new uPlot(this.options(), this.data, this.frame);
    setRange(this.plot, ...this.whole());
    legendByKey(this.plot);
  }

  options() {
    const whole = this.data[0].every(Number.isInteger) ? { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 1e4, 1e5, 1e6] } : {};
    const figures = { size: 80, values: (u, ticks) => ticks.map(figure) };
    return {
      width: this.frame.clientWidth,
      height: plotHeight(this.frame),
      scales: { x: { time: false } },
      axes: [axis(this.x, whole), axis(this.y, figures)],
      // What is hollow in the plot is hollow here: the paper's points beside our lines.
      legend: { live: false, markers: { fill: (u, at) => (this.lines[at - 1]?.style === "points" ? "transparent" : u.series[at].stroke(u, at)) } },
      cursor: { drag: { x: true, y: false }, points: { show: false } },
      series: [{ label: this.x }, ...this.lines.map(lineStyle)],
      hooks: {
        setScale: [(u, scale) => scale === "x" && this.sayRange(u.scales.x)],
        setCursor: [(u) => this.say(u.cursor.idx)],
      },
    };
  }

  sayRange({ min, max }) {
    this.shown.textContent = `${figure(min)} to ${figure(max)}`;
  }

  /** Moves the cursor on by a point. */
  step(by) {
    const at = this.data[0];
    const { min, max } = this.plot.scales.x;
    const seen = at.findIndex((x) => x >= min && x <= max);
    const next = (this.at ?? seen - by) + by;
    if (at[next] === undefined) return;
    if (at[next] < min || at[next] > max) moveBy(this.plot, (at[next] - (min + max) / 2) / (max - min));
    this.plot.setCursor({ left: this.plot.valToPos(at[next], "x"), top: this.frame.clientHeight / 3 }, false);
    this.say(next);
  }

  /** Says what is under the cursor. */
  say(place) {
    this.at = place ?? undefined;
    const [at, ...values] = this.data.map((column) => column[place]);
    const said = this.lines.map(({ name }, line) => [name, values[line]]).filter(([, value]) => Number.isFinite(value));
    this.says.textContent = said.length > 0 ? [`${this.x}: ${figure(at)}`, ...said.map(([name, value]) => `${name} ${figure(value)}`)].join(" · ") : "";
  }
}

/** The columns of uPlot: all x, and for each line its values there. `null` is a gap; what is `undefined` is between two points. */
function mergeLines(lines) {
  const points = lines.flatMap((line, place) => line.points.map(([x, y]) => ({ x, y, place })));
  points.sort((one, other) => one.x - other.x);
  const columns = [[], ...lines.map(() => [])];
  for (const { x, y, place } of points) {
    const last = columns[0].length - 1;
    // Two points of one line may be one above the other.
    const shared = columns[0][last] === x && columns[place + 1][last] === undefined;
    if (!shared) columns.forEach((column) => column.push(undefined));
    const row = columns[0].length - 1;
    columns[0][row] = x;
    columns[place + 1][row] = y;
  }
  columns.slice(1).forEach(widenGaps);
  return columns;
}

/** A gap of uPlot ends at the next row, whosever that is: here it goes from the point before it to the one after. */
function widenGaps(column) {
  for (let place = 0; place < column.length; place += 1) {
    if (column[place] !== null) continue;
    for (let before = place - 1; column[before] === undefined && before >= 0; before -= 1) column[before] = null;
    while (place + 1 < column.length && (column[place + 1] === undefined || column[place + 1] === null)) column[(place += 1)] = null;
  }
}

/** What of a plot is not drawn, in words. */
function notDrawn([lines, points]) {
  const said = [];
  if (lines > 0) said.push(`${grouped(lines)} more lines are not drawn.`);
  if (points > 0) said.push(`Long lines are drawn without ${grouped(points)} of their points.`);
  return said.join(" ");
}

/** So many colours of lines has the style sheet; after these come dashes. */
const HUES = 6;
const DASHES = [[], [8, 4], [2, 3], [12, 3, 2, 3]];

function lineStyle({ name, style, hue }) {
  const stroke = colour(`line-${hue % HUES}`);
  // Each neighbour is dashed otherwise, so that lines which coincide can both be seen.
  const dash = DASHES[(hue + Math.floor(hue / HUES)) % DASHES.length];
  const base = { label: name, stroke, width: 1.5, dash };
  switch (style) {
    case "points":
      return { ...base, paths: () => null, points: { show: true, size: 10, width: 2, fill: colour("page") } };
    case "steps":
      return { ...base, paths: uPlot.paths.stepped({ align: 1 }), points: { show: false } };
    default:
      return { ...base, points: { show: true, size: 5, fill: stroke } };
  }
}

/** `12,345` or `0.0123`. */
function figure(number) {
  return number.toLocaleString("en", { maximumSignificantDigits: Math.abs(number) >= 1e4 ? 8 : 5 });
}

/** What a click on a name in the legend does, for the keyboard, too: a line comes and goes. */
function legendByKey(plot) {
  for (const name of plot.root.querySelectorAll(".u-legend .u-series th")) {
    name.setAttribute("role", "button");
    name.setAttribute("tabindex", "0");
    name.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      event.stopPropagation();
      name.click();
    });
  }
}

/** An axis in the colours of the page. */
function axis(label, more = {}) {
  const faint = { stroke: colour("faint"), width: 1 };
  return { label, stroke: colour("text"), grid: faint, ticks: faint, ...more };
}

/** Two thirds of the width, but no higher than what is seen at once. */
function plotHeight(frame) {
  return Math.max(240, Math.min(frame.clientWidth * 0.6, innerHeight * 0.65, 560));
}
