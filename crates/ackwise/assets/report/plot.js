// Lines over an axis.

/** Draws a plot of `{title, x, y, lines: [{name, style, points}]}` into `host`. */
function drawPlot(host, { title, x, y, lines }) {
  const data = uPlot.join(lines.map((it) => [it.points.map(([at]) => at), it.points.map(([, value]) => value)]));
  const frame = element("div", { class: "frame" });
  host.append(frame);
  let plot = null;
  const draw = () => {
    plot?.destroy();
    const size = { width: frame.clientWidth, height: plotHeight(frame) };
    const series = lines.map((line, place) => ({ ...lineStyle(line.style, colour(`line-${place % LINES}`)), label: line.name }));
    const options = { ...size, title, scales: { x: { time: false } }, axes: [axis(x), axis(y)], series: [{ label: x }, ...series] };
    plot = new uPlot(options, data, frame);
  };
  onResize(frame, draw);
  onColours(draw);
}

/** So many colours of lines has the style sheet. */
const LINES = 6;

function lineStyle(style, stroke) {
  switch (style) {
    case "points":
      return { stroke, paths: () => null, points: { show: true, size: 5, fill: stroke } };
    case "steps":
      return { stroke, width: 1.5, paths: uPlot.paths.stepped({ align: 1 }), points: { show: false } };
    default:
      return { stroke, width: 1.5, points: { show: true, size: 4, fill: stroke } };
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
