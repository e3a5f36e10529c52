// Elements, colours, figures.

/** An element: `element("button", {type: "button", class: "x"}, "text", child…)`. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "on") {
      for (const [event, listener] of Object.entries(value)) made.addEventListener(event, listener);
    } else if (value !== null && value !== undefined) {
      made.setAttribute(key, value);
    }
  }
  made.append(...children);
  return made;
}

/** A colour of the style sheet, as it is now: light, dark or printed. */
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

/** A labelled <select>; `options` are [value, text] pairs. */
function choice(label, options, onChange) {
  const select = element("select", { on: { change: () => onChange(select.value) } });
  select.append(...options.map(([value, text]) => element("option", { value }, text)));
  return { select, label: element("label", {}, `${label} `, select) };
}

/** Microseconds as `12.345 ms` or `1.234 s`. */
function duration(micros) {
  return micros < 1e6 ? `${(micros / 1e3).toFixed(3)} ms` : `${(micros / 1e6).toFixed(3)} s`;
}

/** Microseconds since the beginning as seconds. */
function seconds(micros) {
  return `${(micros / 1e6).toFixed(6)} s`;
}

/** `12,345`. */
function grouped(number) {
  return number.toLocaleString("en");
}

/** Calls `draw` when `host` has a width, and again whenever that changes; once per frame. */
function onResize(host, draw) {
  let width = 0;
  new ResizeObserver(() => {
    if (host.clientWidth !== width) {
      width = host.clientWidth;
      requestAnimationFrame(draw);
    }
  }).observe(host);
}

/** Calls `draw` when the colours change: dark to light, screen to paper and back. */
function onColours(draw) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  const paper = (on) => () => {
    document.documentElement.toggleAttribute("data-paper", on);
    draw();
  };
  addEventListener("beforeprint", paper(true));
  addEventListener("afterprint", paper(false));
}
