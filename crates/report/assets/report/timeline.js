// A timeline as objects, out of the numbers that src/report/packed.rs has put it into. Times are in microseconds since the beginning.

const BIT = { toClient: 1, syn: 2, fin: 4, rst: 8, again: 16, ack: 32, edge: 64 };
const DIRECTIONS = ["to server", "to client"];
const CONFIDENCES = ["high", "medium", "low"];

class Timeline {
  constructor(packed) {
    this.packed = packed;
    this.exchanges = packed.exchanges.map((it, place) => new Exchange(packed, it, place));
    this.connections = packed.connections;
    /** What the path takes without anybody's fault. It is not shaded. */
    this.pathDelays = new Set(packed.path_delays);
    this.byConnection = Map.groupBy(this.exchanges, (it) => it.connection);
    this.kinds = new Map();
  }

  exchangesOf(connection) {
    return this.byConnection.get(connection) ?? [];
  }

  /** The causes that occur, the most expensive first. */
  causes() {
    const totals = new Map();
    for (const exchange of this.exchanges) {
      for (const { cause, length } of exchange.shares()) totals.set(cause, (totals.get(cause) ?? 0) + length);
    }
    return [...totals].sort((one, other) => other[1] - one[1]).map(([cause]) => cause);
  }

  /** The packets of a connection, in order. */
  points(connection) {
    const flat = this.connections[connection].points;
    const points = [];
    const end = [0, 0];
    const acked = [0, 0];
    let at = 0;
    let packet = 0;
    for (let place = 0; place < flat.length; place += 7) {
      const bits = flat[place + 2];
      const way = bits & BIT.toClient;
      at += flat[place];
      packet += flat[place + 1];
      const from = end[way] + flat[place + 3];
      const to = from + flat[place + 4];
      const ack = acked[way] + flat[place + 5];
      end[way] = to;
      acked[way] = ack;
      const edge = bits & BIT.edge ? ack + flat[place + 6] : null;
      points.push({ at, packet, way, bits, from, to, ack: bits & BIT.ack ? ack : null, edge });
    }
    return points;
  }

  /** `, packets 12 (data), 13 (ACK), 14 (data)`: those that show a cause. What is not drawn has no word. */
  evidence(connection, packets) {
    if (packets.length === 0) return "";
    const kinds = this.kindsOf(connection);
    const named = packets.toSorted((one, other) => one - other).map((it) => (kinds.has(it) ? `${it} (${kinds.get(it)})` : String(it)));
    return `, packet${named.length > 1 ? "s" : ""} ${named.join(", ")}`;
  }

  /** What each packet of a connection is, by its number. */
  kindsOf(connection) {
    if (!this.kinds.has(connection)) {
      this.kinds.set(connection, new Map(this.points(connection).map((it) => [it.packet, packetKind(it)])));
    }
    return this.kinds.get(connection);
  }
}

class Exchange {
  constructor(packed, [connection, start, length, label, packet, shares, spans], place) {
    Object.assign(this, { packed, place, connection, start, length, packet });
    this.label = packed.labels[label];
    this.flatShares = shares;
    this.flatSpans = spans;
  }

  /** What it owes to each cause. */
  shares() {
    const shares = [];
    for (let place = 0; place < this.flatShares.length; place += 3) {
      const [kind, length, doubt] = this.flatShares.slice(place, place + 3);
      shares.push({ ...this.kind(kind, doubt), length });
    }
    return shares;
  }

  owedTo(cause) {
    return this.shares().reduce((sum, it) => (it.cause === cause ? sum + it.length : sum), 0);
  }

  /** When it waited for what. Where that was not kept, its shares one after the other: `exact` says so. */
  spans() {
    const spans = [];
    for (let place = 0; place < this.flatSpans.length; place += 7) {
      const [kind, from, length, doubt, ...packets] = this.flatSpans.slice(place, place + 7);
      const evidence = packets.filter((packet) => packet > 0);
      spans.push({ ...this.kind(kind, doubt), from: this.start + from, length, packets: evidence, exact: true });
    }
    return spans.length > 0 ? spans : this.sharesInARow();
  }

  sharesInARow() {
    let from = this.start;
    return this.shares().map((share) => {
      const span = { ...share, from, packets: [], exact: false };
      from += share.length;
      return span;
    });
  }

  /** The cause, who can change it, and how sure that is. */
  kind(number, doubt) {
    const { causes } = this.packed;
    const [cause, parties] = causes[number >> 1];
    const rival = doubt < 3 ? null : causes[Math.floor(doubt / 3) - 1][0];
    return { cause, way: number & 1, party: parties[number & 1], confidence: CONFIDENCES[doubt % 3], rival };
  }
}

/** ` (medium confidence, rival path-stall)`; nothing if the verdict is sure. */
function doubtOf({ confidence, rival }) {
  if (confidence === "high" && !rival) return "";
  return ` (${confidence} confidence${rival ? `, rival ${rival}` : ""})`;
}

/** What a packet is, in a word or two. */
function packetKind({ bits, from, to }) {
  if (bits & BIT.syn) return bits & BIT.ack ? "SYN-ACK" : "SYN";
  if (bits & BIT.rst) return "RST";
  if (to > from) return bits & BIT.again ? "data again" : "data";
  return bits & BIT.fin ? "FIN" : "ACK";
}
