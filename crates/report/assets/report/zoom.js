// Zooming and moving along the x axis of a uPlot: by buttons, so also by touch, and by keys. Dragging is uPlot's own.

/** The keys in words; the arrows go from one `what` to the next. */
const zoomKeys = (what) => `+ and - zoom, Shift and arrows move, 0 shows all, arrows go from ${what} to ${what}`;

/** Buttons for the plot that `current()` returns; `whole()` is [least, greatest] of x. */
function zoomButtons(current, whole) {
  const act = {
    in: () => scaleBy(current(), 0.5),
    out: () => scaleBy(current(), 2, whole()),
    left: () => moveBy(current(), -0.5),
    right: () => moveBy(current(), 0.5),
    all: () => setRange(current(), ...whole()),
  };
  const button = (text, label, does) =>
    element("button", { type: "button", "aria-label": label, title: label, on: { click: does } }, text);
  const buttons = element(
    "span",
    { class: "buttons", role: "group", "aria-label": "Zoom" },
    button("+", "Zoom in", act.in),
    button("−", "Zoom out", act.out),
    button("◀", "Earlier", act.left),
    button("▶", "Later", act.right),
    button("All", "Show all", act.all),
  );
  return { buttons, act };
}

/** What a key does to the plot; whether it did anything. */
function handleZoomKey(event, act, step) {
  const does = {
    "+": act.in,
    "=": act.in,
    "-": act.out,
    0: act.all,
    Escape: act.all,
    ArrowLeft: event.shiftKey ? act.left : () => step(-1),
    ArrowRight: event.shiftKey ? act.right : () => step(1),
  }[event.key];
  if (!does || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  does();
}

function setRange(plot, min, max) {
  if (plot && max > min) plot.setScale("x", { min, max });
}

/** Around the cursor if it is in the plot, else around the middle. */
function scaleBy(plot, factor, within = [-Infinity, Infinity]) {
  if (!plot) return;
  const { min, max } = plot.scales.x;
  const centre = plot.cursor.left >= 0 ? plot.posToVal(plot.cursor.left, "x") : (min + max) / 2;
  const from = centre - (centre - min) * factor;
  const to = centre + (max - centre) * factor;
  setRange(plot, Math.max(from, within[0]), Math.min(to, within[1]));
}

function moveBy(plot, screens) {
  if (!plot) return;
  const { min, max } = plot.scales.x;
  const way = (max - min) * screens;
  setRange(plot, min + way, max + way);
}
