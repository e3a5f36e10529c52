// Where the page begins: draws what asks to be drawn.

/** The waterfall, and under it the packets of one connection. */
function drawTimeline(host, packed) {
  const timeline = new Timeline(packed);
  if (timeline.connections.length === 0) {
    host.append(element("p", {}, "The capture has no segments to draw."));
    return;
  }
  const sequence = new SequencePlot(timeline, () => stalls.refresh());
  const stalls = new StallList(sequence);
  const note = element("p", { class: "help" });
  const show = (connection, way) => {
    connections.select.value = String(connection);
    sequence.show(connection, way);
    stalls.refresh();
    note.textContent = coarseness(timeline.connections[connection]);
  };
  const names = timeline.connections.map(({ name }, place) => [String(place), `${place}: ${name}`]);
  const connections = choice("Connection", names, (value) => show(Number(value)));
  const waterfall = new Waterfall(timeline, (exchange) => {
    show(exchange.connection);
    sequence.focus(exchange.start, exchange.length);
    sequence.frame.scrollIntoView({ block: "nearest" });
  });
  const packets = element("section", { class: "packets" }, element("h3", {}, "Packets"));
  packets.append(element("div", { class: "toolbar" }, connections.label), sequence.element, note, stalls.element);
  host.append(waterfall.element, packets);
  show(waterfall.rows[0]?.connection ?? 0);
}

/** What is not drawn of a connection, in words. */
function coarseness({ points, grain, left_out: leftOut }) {
  const said = [];
  if (points.length === 0 && leftOut === 0) said.push("The report has no packets of this connection.");
  if (grain > 1) said.push(`Long connection: up to ${grain} segments per direction are drawn as one.`);
  if (leftOut > 0) said.push(`${grouped(leftOut)} segments are not drawn: the report keeps a limited number.`);
  return said.join(" ");
}

const DRAW = { plot: drawPlot, timeline: drawTimeline };

for (const host of document.querySelectorAll("[data-draw]")) {
  const { draw, from } = host.dataset;
  DRAW[draw](host, JSON.parse(document.getElementById(from).textContent));
}
