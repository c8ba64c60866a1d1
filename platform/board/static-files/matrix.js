// The heat map: a panel per bonus, a row per task, a cell per seed.
import { element, setAttribute, setText } from "./dom.js";
import { duration, number, percent, short, tiny, tinyDuration } from "./format.js";

/** What a cell's colour and text can show: value of a cell, its text, and whether the scale starts at 0. */
export const VIEWS = {
  metric: { value: (cell) => cell.metric, text: tiny },
  return: { label: "return", value: (cell) => cell.return, text: tiny },
  progress: { label: "progress", value: (cell) => cell.share, text: (value) => String(Math.floor(100 * value)) },
  left: { label: "time left", value: (cell) => cell.left, text: tinyDuration, fromZero: true },
  speed: { label: "steps per second", value: (cell) => cell.speed || null, text: short, fromZero: true },
};

const ROOMY_PIXELS = 62;
const remaining = (cell) => (cell.left === null ? "starting" : `${duration(cell.left)} left`);
const SUB_TEXT = { waiting: "waiting", finished: "done", failed: "failed", unreadable: "damaged" };

export class Matrix {
  /** `open` is called with the id of a trial whose cell was activated. */
  constructor(root, open) {
    this.root = root;
    this.open = open;
    this.view = "metric";
    this.highlight = null;
    root.addEventListener("click", (event) => this.clicked(event));
    root.addEventListener("keydown", (event) => this.pressed(event));
    new ResizeObserver(() => this.measure()).observe(root);
  }

  /** Build all panels. */
  build(layout) {
    this.layout = layout;
    this.cells = new Map();
    this.buttons = new Map();
    this.at = new Map();
    for (const trial of layout.trials) this.at.set(`${trial.panel} ${trial.row} ${trial.seed}`, trial.id);
    this.root.style.setProperty("--seeds", layout.seeds.length);
    const corner = element("div", { class: "head", text: "seed" });
    const names = element("div", { class: "names", "aria-hidden": "true" }, corner);
    for (const row of layout.rows) names.append(rowName(row, "div"));
    this.panels = layout.panels.map((panel, place) => this.panel(panel, place));
    this.root.replaceChildren(names, ...this.panels.map((panel) => panel.root));
    const first = this.root.querySelector("button");
    if (first) first.tabIndex = 0;
    this.measure();
  }

  panel(panel, place) {
    const figure = element("span", { class: "figure" });
    const head = element(
      "div",
      { class: "head" },
      element("h3", { text: panel.label, title: panel.label }),
      element("p", {}, element("span", { text: panel.note ? `${panel.scope} · ${panel.note}` : panel.scope }), figure),
      element("div", { class: "seeds", "aria-hidden": "true" },
        ...this.layout.seeds.map((seed) => element("span", { text: seed }))),
    );
    const label = panel.note ? `${panel.label}, ${panel.note}` : panel.label;
    const root = element("div", { class: "panel", role: "grid", "aria-label": `bonus ${label}` }, head);
    root.style.setProperty("--light", panel.colour);
    root.style.setProperty("--dark", panel.darkColour);
    this.layout.rows.forEach((row, rowNumber) => {
      const line = element("div", { class: "line", role: "row" }, rowName(row, "span", "rowheader"));
      this.layout.seeds.forEach((_, seed) => line.append(this.cell(place, rowNumber, seed)));
      root.append(line);
    });
    return { root, figure };
  }

  cell(panel, row, seed) {
    const id = this.at.get(`${panel} ${row} ${seed}`);
    if (id === undefined) return element("span", { class: "cell none", role: "gridcell" });
    const button = element("button", { class: "cell", role: "gridcell", type: "button", tabindex: "-1", "data-id": id },
      element("span", { class: "value" }), element("span", { class: "sub" }), element("i", { class: "bar" }));
    Object.assign(button, { panel, row, seed });
    this.buttons.set(id, button);
    return button;
  }

  /** Take in cells that changed. */
  update(cells, summary) {
    for (const cell of cells) this.cells.set(cell.id, cell);
    const interrupted = summary.interrupted;
    const redrawAll = this.scale() || interrupted !== this.interrupted;
    this.interrupted = interrupted;
    for (const cell of redrawAll ? this.cells.values() : cells) this.draw(cell);
    this.figures();
  }

  /** Colour and label the cells by another of the `VIEWS`. */
  show(view) {
    this.view = view;
    this.scale();
    for (const cell of this.cells.values()) this.draw(cell);
    this.figures();
  }

  /** Fade all cells with another status; null for none. */
  emphasise(status) {
    this.highlight = status;
    this.root.classList.toggle("faded", status !== null);
    for (const [id, button] of this.buttons) button.classList.toggle("lit", this.status(this.cells.get(id)) === status);
  }

  status(cell) {
    return cell.status === "running" && this.interrupted ? "interrupted" : cell.status;
  }

  /** Compute the range of the colours; whether it changed. */
  scale() {
    const view = VIEWS[this.view];
    const values = [...this.cells.values()].map(view.value).filter((value) => value !== null && value !== undefined);
    const highest = Math.max(...values);
    // Absolute, so that colours keep their meaning: nothing is the lightest, and 1 or more the darkest. Only where
    // every return is a large loss does the scale end at 0 instead.
    let [low, high] = view.fromZero ? [0, Math.max(highest, 0)] : [0, Math.max(highest, 1)];
    if (highest < -1) [low, high] = [Math.min(...values), 0];
    if (!(high > low && Number.isFinite(high - low))) [low, high] = [0, 1];
    const changed = this.low !== low || this.high !== high;
    [this.low, this.high] = [low, high];
    return changed;
  }

  draw(cell) {
    const button = this.buttons.get(cell.id);
    if (!button) return;
    const view = VIEWS[this.view];
    const value = view.value(cell);
    const known = value !== null && value !== undefined && begun(cell);
    const level = known ? Math.min(1, Math.max(0, (value - this.low) / (this.high - this.low))) : 0;
    const status = this.status(cell);
    const paused = status === "waiting" && begun(cell) ? " begun" : "";
    const kind = `cell ${status}${paused}${known ? " known" : ""}${level > 0.55 ? " deep" : ""}`;
    setAttribute(button, "class", kind + (status === this.highlight ? " lit" : ""));
    button.style.setProperty("--level", `${(100 * level).toFixed(1)}%`);
    button.style.setProperty("--share", `${(100 * cell.share).toFixed(1)}%`);
    const marks = { failed: "✕", unreadable: "?" };
    setText(button.children[0], marks[cell.status] ?? (known ? view.text(value) : ""));
    const running = cell.status === "running" && !this.interrupted;
    setText(button.children[1], (running ? remaining(cell) : SUB_TEXT[cell.status]) ?? "stopped");
    const text = this.describe(cell, button);
    setAttribute(button, "aria-label", text);
    setAttribute(button, "title", text);
  }

  describe(cell, button) {
    const { rows, panels, seeds } = this.layout;
    const where = `${rows[button.row].label}, ${panels[button.panel].label}, seed ${seeds[button.seed]}`;
    const parts = [`${where}: ${this.status(cell)}`];
    if (begun(cell) && cell.status !== "finished") parts.push(percent(cell.share));
    if (cell.metric !== null) parts.push(`${cell.label} ${number(cell.metric)}`);
    if (cell.return !== null && cell.column !== "episode_return") parts.push(`return ${number(cell.return)}`);
    if (cell.status === "running" && !this.interrupted) parts.push(remaining(cell));
    if (cell.error) parts.push(cell.error);
    return parts.join(", ");
  }

  /** The mean of every panel, beside its name. */
  figures() {
    const view = VIEWS[this.view];
    this.panels.forEach((panel, place) => {
      const values = [];
      for (const [id, button] of this.buttons) {
        const cell = this.cells.get(id);
        const value = button.panel === place && cell && begun(cell) ? view.value(cell) : null;
        if (value !== null && value !== undefined) values.push(value);
      }
      const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
      const shown = this.view === "left" ? duration(mean) : this.view === "progress" ? percent(mean) : number(mean);
      setText(panel.figure, values.length ? `mean ${shown}` : "");
    });
  }

  /** Mark the cell of the trial that is open. */
  select(id) {
    this.root.querySelector("[aria-current]")?.removeAttribute("aria-current");
    this.buttons?.get(id)?.setAttribute("aria-current", "true");
  }

  focus(id) {
    const button = this.buttons?.get(id);
    if (!button) return;
    this.root.querySelector("button[tabindex='0']")?.setAttribute("tabindex", "-1");
    button.tabIndex = 0;
    button.focus();
  }

  measure() {
    const cell = this.root.querySelector(".cell");
    if (cell) this.root.classList.toggle("roomy", cell.getBoundingClientRect().width >= ROOMY_PIXELS);
  }

  clicked(event) {
    const button = event.target.closest("button.cell");
    if (button) this.open(button.dataset.id);
  }

  pressed(event) {
    const button = event.target.closest("button.cell");
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!button || (!step && event.key !== "Home" && event.key !== "End")) return;
    event.preventDefault();
    const stacked = getComputedStyle(this.root).flexDirection === "column";
    const seeds = this.layout.seeds.length;
    const rows = this.layout.rows.length;
    // Panels side by side continue to the right, stacked ones below.
    let across = stacked ? button.seed : button.panel * seeds + button.seed;
    let down = stacked ? button.panel * rows + button.row : button.row;
    const width = stacked ? seeds : seeds * this.panels.length;
    const height = stacked ? rows * this.panels.length : rows;
    if (event.key === "Home") across = -1;
    if (event.key === "End") across = width;
    const [dx, dy] = step ?? (event.key === "Home" ? [1, 0] : [-1, 0]);
    for (;;) {
      across += dx;
      down += dy;
      if (across < 0 || down < 0 || across >= width || down >= height) return;
      const place = stacked
        ? [Math.floor(down / rows), down % rows, across]
        : [Math.floor(across / seeds), down, across % seeds];
      const id = this.at.get(place.join(" "));
      if (id !== undefined) return this.focus(id);
    }
  }
}

/** Whether a trial has any steps; a waiting one may, if it will be resumed. */
function begun(cell) {
  return cell.status !== "waiting" || cell.steps > 0;
}

function rowName(row, tag, role) {
  const name = element(tag, { class: "name", title: row.label, role }, element("span", { text: row.label }));
  if (row.note) name.append(element("small", { text: row.note }));
  return name;
}
