// What the data of the connection that is shown waited for, in words: each wait a button that zooms to it.

/** More than these would be no list to read; they are the longest. */
const MAX_STALLS = 40;

class StallList {
  constructor(sequence) {
    this.sequence = sequence;
    this.title = element("h3");
    this.list = element("ol", { class: "stalls" });
    this.element = element("div", {}, this.title, this.list);
  }

  /** Shows the stalls of what the plot shows. */
  refresh() {
    const longest = [...this.sequence.stalls].sort((one, other) => other.length - one.length).slice(0, MAX_STALLS);
    const hidden = this.sequence.stalls.length - longest.length;
    const rest = hidden > 0 ? `: the longest ${MAX_STALLS} of ${grouped(this.sequence.stalls.length)}` : "";
    this.title.textContent = longest.length > 0 ? `What data ${DIRECTIONS[this.sequence.way]} waited for${rest}` : "No wait in this direction";
    this.list.replaceChildren(...longest.map((stall) => element("li", {}, this.button(stall))));
  }

  button(stall) {
    const { cause, length, from, party, packets } = stall;
    const { timeline, connection } = this.sequence;
    const mark = element("span", { class: `mark fill-${cause}`, "aria-hidden": "true" });
    const who = party ? ` (${party})` : "";
    const show = () => this.sequence.focus(from, length);
    const what = ` ${cause}${who} ${duration(length)}${doubtOf(stall)} at ${seconds(from)}${timeline.evidence(connection, packets)}`;
    return element("button", { type: "button", on: { click: show } }, mark, what);
  }
}
