// The comparison: one metric by bonus over the steps, all tasks together and each on its own.
import { drawing, element, setText } from "./dom.js";
import { number, short } from "./format.js";

const WIDTH = 1000;
const HEIGHT = 100;

export class ComparisonView {
  /** `choose` is called with the name of another metric. */
  constructor(root, choose) {
    this.root = root;
    this.choose = choose;
    this.title = element("h2");
    this.switch = element("div", { class: "switch", role: "radiogroup", "aria-label": "Metric" });
    this.legend = element("ul", { class: "legend" });
    this.whole = element("div");
    this.parts = element("div", { class: "compared" });
    this.note = element("p", { class: "quiet" });
    root.replaceChildren(element("header", {}, this.title, this.switch), this.legend, this.whole, this.parts, this.note);
  }

  /** Show what the server compared. */
  update(data, layout) {
    this.root.hidden = !data.charts.length;
    if (this.root.hidden) return;
    this.data = data;
    this.layout = layout;
    this.drawSwitch();
    this.drawLegend();
    const one = data.charts.length === 1 && layout.rows.length === 1;
    const whole = one ? [["", data.charts[0].curves]]
      : data.together?.length ? [[`mean over ${layout.rows.length} tasks`, data.together]] : [];
    const parts = one ? [] : data.charts.map(({ row, curves }) => [rowText(layout.rows[row]), curves]);
    this.main = whole[0] ?? null;
    const lines = (charts, size) => charts.map(([title, curves]) => new Lines(this, title, curves, size));
    const [large, small] = [lines(whole, "large"), lines(parts, "small")];
    this.drawn = [...large, ...small];
    this.whole.replaceChildren(...large.map(({ root }) => root));
    this.parts.replaceChildren(...small.map(({ root }) => root));
    this.read(null, null);
    const several = data.charts.some(({ curves }) => curves.some((curve) => curve.seeds > 1));
    const partial = this.drawn.some((lines) => lines.partial);
    setText(this.note, [
      several ? "Line: mean over seeds; band: lowest to highest seed." : "",
      partial ? "Thin: not all seeds are there yet." : "",
      data.unread ? `Reading: ${data.unread} of ${layout.trials.length} trials are not included yet.` : "",
    ].filter(Boolean).join(" "));
  }

  drawSwitch() {
    const { metrics, metric } = this.data;
    const chosen = metrics.find(({ name }) => name === metric);
    setText(this.title, `${chosen.label[0].toUpperCase()}${chosen.label.slice(1)} by bonus`);
    const names = metrics.map(({ name }) => name).join("\n");
    if (this.switch.dataset.names !== names) {
      this.switch.dataset.names = names;
      this.switch.replaceChildren(...metrics.map(({ name, label, meaning }) => element("button",
        { type: "button", role: "radio", title: meaning, "data-metric": name, onclick: () => this.choose(name), text: label })));
    }
    for (const button of this.switch.children) button.setAttribute("aria-checked", String(button.dataset.metric === metric));
    this.switch.hidden = metrics.length < 2;
  }

  drawLegend() {
    const used = new Set(this.data.charts.flatMap(({ curves }) => curves.map((curve) => curve.panel)));
    this.values = new Map();
    this.legend.replaceChildren(...this.layout.panels.flatMap((panel, place) => {
      if (!used.has(place)) return [];
      const value = element("b");
      this.values.set(place, value);
      const sample = drawing("svg", { viewBox: "0 0 28 8", class: "sample", "aria-hidden": "true" },
        this.styled(drawing("path", { class: "curve", d: "M1 4H27" }), place));
      const label = panel.note ? `${panel.label} (${panel.note})` : panel.label;
      return [element("li", { title: `${panel.label}: ${panel.scope}` }, sample, element("code", { text: label }), value)];
    }));
  }

  /** A path in the bonus's colour and dashes. */
  styled(path, place) {
    const { colour, darkColour, dash } = this.layout.panels[place];
    path.style.setProperty("--light", colour);
    path.style.setProperty("--dark", darkColour);
    if (dash.length && path.classList.contains("curve")) path.style.strokeDasharray = dash.map((part) => 2 * part).join(" ");
    return path;
  }

  /** Show in the legend the values of a chart at one point; of the main chart at its end if none is pointed at. */
  read(lines, place) {
    for (const other of this.drawn) other.mark(other === lines ? place : null);
    const curves = lines ? lines.curves : this.main?.[1] ?? [];
    for (const [panel, value] of this.values) {
      const curve = curves.find((one) => one.panel === panel);
      const mean = !curve ? null : lines ? curve.mean[place] : curve.mean.findLast((one) => one !== null);
      setText(value, mean === null || mean === undefined ? "" : number(mean));
    }
  }
}

/** One chart with a curve per bonus. */
class Lines {
  constructor(view, title, curves, size) {
    this.curves = curves;
    this.steps = view.data.steps;
    [this.low, this.high] = view.data.share ? [0, 1] : range(curves);
    this.cursor = element("i", { class: "cursor", hidden: true });
    this.partial = false;
    const paths = curves.flatMap((curve) => this.paths(view, curve));
    const svg = drawing("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" }, ...paths);
    const plot = element("div", { class: "plot" }, svg, this.cursor);
    this.at = element("output");
    const last = curves.map((curve) =>
      `${view.layout.panels[curve.panel].label} ${number(curve.mean.findLast((one) => one !== null))}`);
    this.root = element("figure", { class: `lines ${size}`, role: "img", "aria-label": `${title} ${last.join(", ")}` },
      element("figcaption", {}, element("span", { text: title, title }), this.at),
      element("span", { class: "y-high", text: number(this.high) }), element("span", { class: "y-low", text: number(this.low) }),
      plot, element("span", { class: "x-start", text: "0" }),
      element("span", { class: "x-end", text: `${short(this.steps.at(-1))} steps` }));
    plot.addEventListener("pointermove", (event) => {
      const box = plot.getBoundingClientRect();
      const place = Math.round((this.steps.length * (event.clientX - box.left)) / box.width) - 1;
      view.read(this, Math.max(0, Math.min(this.steps.length - 1, place)));
    });
    plot.addEventListener("pointerleave", () => view.read(null, null));
  }

  /** The band, the line as far as all seeds have come, a thin one beyond, and dots where values are few. */
  paths(view, curve) {
    const places = curve.mean.map((_, place) => place).filter((place) => curve.mean[place] !== null);
    const point = (values) => (place) => `${this.x(place)} ${this.y(values[place])}`;
    const made = [];
    if (curve.low && places.length > 1) {
      const around = [...places.map(point(curve.high)), ...places.map(point(curve.low)).reverse()];
      made.push(drawing("path", { class: "band", d: `M${around.join("L")}Z` }));
    }
    const sure = places.filter((place) => place < curve.complete);
    const unsure = places.filter((place) => place >= curve.complete - 1);
    if (sure.length > 1) made.push(drawing("path", { class: "curve", d: `M${sure.map(point(curve.mean)).join("L")}` }));
    if (unsure.length > 1) {
      this.partial = true;
      made.push(drawing("path", { class: "thin", d: `M${unsure.map(point(curve.mean)).join("L")}` }));
    }
    if (places.length < 2) made.push(drawing("path", { class: "dots", d: places.map((place) => `M${point(curve.mean)(place)}h0`).join("") }));
    return made.map((path) => view.styled(path, curve.panel));
  }

  x(place) {
    return ((WIDTH * (place + 1)) / this.steps.length).toFixed(1);
  }

  y(value) {
    return (HEIGHT * (1 - (value - this.low) / (this.high - this.low))).toFixed(2);
  }

  /** Mark a point; null for none. */
  mark(place) {
    this.cursor.hidden = place === null;
    setText(this.at, place === null ? "" : `at ${short(this.steps[place])} steps`);
    if (place !== null) this.cursor.style.left = `${(100 * (place + 1)) / this.steps.length}%`;
  }
}

const rowText = (row) => (row.note ? `${row.label}, ${row.note}` : row.label);

/** Round numbers around all curves, with 0; and with 1, the return of many solved tasks, if near. */
function range(curves) {
  const values = curves.flatMap((curve) => [curve.mean, curve.low ?? [], curve.high ?? []]).flat()
    .filter((value) => value !== null);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const [bottom, top] = [Math.min(0, low), high < -1 ? 0 : Math.max(1, high)];
  const unit = 10 ** Math.floor(Math.log10(top - bottom)) / 2;
  return [unit * Math.floor(bottom / unit), unit * Math.ceil(top / unit)];
}
