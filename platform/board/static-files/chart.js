// One curve over the environment's steps, with the range of the rows behind each point.
import { drawing, element, setText } from "./dom.js";
import { number, short } from "./format.js";

const WIDTH = 1000;
const HEIGHT = 100;

export class Chart {
  /** `point` is called with the number of the point under the pointer, or null. */
  constructor({ label, meaning, name }, point) {
    this.band = drawing("path", { class: "band" });
    this.line = drawing("path", { class: "curve" });
    this.dots = drawing("path", { class: "dots" });
    this.svg = drawing("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" },
      this.band, this.line, this.dots);
    this.cursor = element("i", { class: "cursor", hidden: true });
    this.plot = element("div", { class: "plot" }, this.svg, this.cursor);
    this.reading = element("output");
    [this.top, this.bottom, this.end] = ["y-high", "y-low", "x-end"].map((place) => element("span", { class: place }));
    this.root = element("figure", { class: "chart", tabindex: "0", role: "img", "data-column": name },
      element("figcaption", { title: meaning ? `${name}: ${meaning}` : name }, element("span", { text: label }), this.reading),
      this.top, this.bottom, this.plot, element("span", { class: "x-start", text: "0" }), this.end);
    this.label = label;
    this.place = null;
    this.plot.addEventListener("pointermove", (event) => point(this.nearest(event)));
    this.plot.addEventListener("pointerleave", () => point(null));
    this.root.addEventListener("blur", () => point(null));
    this.root.addEventListener("keydown", (event) => this.pressed(event, point));
  }

  /** Draw a column. */
  update(steps, column) {
    this.steps = steps;
    this.column = column;
    [this.low, this.high] = range(column);
    this.lastStep = steps.at(-1) || 1;
    const there = column.mean.map((value, place) => place).filter((place) => column.mean[place] !== null);
    const sparse = there.length < steps.length / 2 || there.length < 3;
    const path = there.map((place) => `${this.x(place)} ${this.y(column.mean[place])}`);
    this.line.setAttribute("d", path.length > 1 ? `M${path.join("L")}` : "");
    this.dots.setAttribute("d", sparse ? path.map((place) => `M${place}h0`).join("") : "");
    this.band.setAttribute("d", this.bandPath(there));
    setText(this.top, number(this.high));
    setText(this.bottom, number(this.low));
    setText(this.end, `${short(this.lastStep)} steps`);
    const values = there.map((place) => column.mean[place]);
    this.root.setAttribute("aria-label", `${this.label}: last ${number(column.last)}, between ` +
      `${number(Math.min(...values))} and ${number(Math.max(...values))} in ${short(this.lastStep)} steps`);
    this.showAt(this.place === null ? null : Math.min(this.place, steps.length - 1));
  }

  bandPath(there) {
    const { low, high } = this.column;
    if (!high || there.length < 2) return "";
    const above = there.map((place) => `${this.x(place)} ${this.y(high[place])}`);
    const below = there.map((place) => `${this.x(place)} ${this.y(low[place])}`).reverse();
    return `M${above.concat(below).join("L")}Z`;
  }

  x(place) {
    return ((WIDTH * this.steps[place]) / this.lastStep).toFixed(1);
  }

  y(value) {
    return (HEIGHT * (1 - (value - this.low) / (this.high - this.low))).toFixed(2);
  }

  /** Show the value at a point and mark it; null for the last value. */
  showAt(place) {
    const value = place === null ? null : this.column.mean[place];
    const shown = value !== null && value !== undefined;
    this.cursor.hidden = !shown;
    if (shown) this.cursor.style.left = `${(100 * this.steps[place]) / this.lastStep}%`;
    setText(this.reading, shown ? `${number(value)} at ${short(this.steps[place])}` : number(this.column.last));
    this.place = shown ? place : null;
  }

  nearest(event) {
    const box = this.plot.getBoundingClientRect();
    const step = (this.lastStep * (event.clientX - box.left)) / box.width;
    let best = null;
    this.steps.forEach((at, place) => {
      if (this.column.mean[place] === null) return;
      if (best === null || Math.abs(at - step) < Math.abs(this.steps[best] - step)) best = place;
    });
    return best;
  }

  pressed(event, point) {
    const direction = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!direction) return;
    event.preventDefault();
    let place = this.place ?? (direction > 0 ? -1 : this.steps.length);
    do place += direction;
    while (place >= 0 && place < this.steps.length && this.column.mean[place] === null);
    if (place >= 0 && place < this.steps.length) point(place);
  }
}

/** From the lowest to the highest value; shares from 0 to 1, others from 0 where 0 is near. */
function range(column) {
  const numbers = (values) => (values ?? []).filter((value) => value !== null);
  let low = Math.min(...numbers(column.mean), ...numbers(column.low));
  let high = Math.max(...numbers(column.mean), ...numbers(column.high));
  if (column.unit === "share" && low >= 0 && high <= 1) return [0, 1];
  if (low > 0 && low < high / 2) low = 0;
  if (high < 0 && high > low / 2) high = 0;
  if (high === low) {
    const room = Math.abs(high) / 10 || 1;
    return [low - room, high + room];
  }
  return [low, high];
}
