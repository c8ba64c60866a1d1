// Around the heat map: the grid's totals, the choice of colours, running and failed trials.
import { element, setText } from "./dom.js";
import { duration, number, percent, short } from "./format.js";
import { VIEWS } from "./matrix.js";

const STATUSES = ["finished", "running", "interrupted", "failed", "unreadable", "waiting"];
const FIGURES = { done: "of steps done", left: "time left", speed: "steps per second", trials: "trials finished" };
const LONGEST_LIST = 60;

/** Counts by status as shown: trials of an interrupted grid do not run. */
function countsOf(summary) {
  const { running, ...others } = summary.counts;
  return running ? { ...others, [summary.interrupted ? "interrupted" : "running"]: running } : others;
}

/** Share of all steps that the trials of each status have done. */
function sharesOf(summary) {
  const { running, ...others } = summary.shares;
  return { ...others, [summary.interrupted ? "interrupted" : "running"]: running };
}

/** Share done, time left, speed and counts by status. */
export class Overview {
  /** `emphasise` is called with the status whose trials to highlight, or null. */
  constructor(root, emphasise) {
    this.title = element("h1");
    this.subtitle = element("p", { class: "quiet" });
    this.figures = Object.fromEntries(Object.keys(FIGURES).map((name) => [name, element("b")]));
    this.bar = element("div", { class: "statuses", role: "img" });
    this.segments = new Map(STATUSES.map((status) => [status, element("i", { class: status })]));
    this.bar.append(...this.segments.values());
    this.chips = new Map(STATUSES.map((status) => {
      const count = element("b");
      const chip = element("button",
        { class: `chip ${status}`, type: "button", "aria-pressed": "false", onclick: () => this.toggle(status) },
        element("i", { "aria-hidden": "true" }), count, ` ${status === "unreadable" ? "damaged" : status}`);
      return [status, { chip, count }];
    }));
    this.emphasise = emphasise;
    root.replaceChildren(
      element("div", { class: "titles" }, this.title, this.subtitle),
      element("div", { class: "figures" }, ...Object.entries(FIGURES).map(([name, text]) =>
        element("div", { class: name }, this.figures[name], element("span", { text })))),
      this.bar,
      element("div", { class: "chips", role: "group", "aria-label": "Highlight trials" },
        ...[...this.chips.values()].map(({ chip }) => chip)),
    );
  }

  toggle(status) {
    this.lit = this.lit === status ? null : status;
    for (const [name, { chip }] of this.chips) chip.setAttribute("aria-pressed", String(name === this.lit));
    this.emphasise(this.lit);
  }

  update(layout, summary) {
    const counts = countsOf(summary);
    setText(this.title, layout.name);
    const about = [layout.experiment, layout.scale, `${short(summary.steps)} steps`].filter(Boolean);
    setText(this.subtitle, about.filter(Boolean).join(" · "));
    const shown = {
      done: percent(summary.share),
      left: summary.left ? duration(summary.left) : "–",
      speed: summary.speed ? short(summary.speed) : "–",
      trials: `${counts.finished ?? 0} / ${summary.trials}`,
    };
    for (const [name, text] of Object.entries(shown)) setText(this.figures[name], text);
    const said = [];
    for (const status of STATUSES) {
      const count = counts[status] ?? 0;
      const segment = this.segments.get(status);
      const done = sharesOf(summary)[status] ?? 0;
      segment.hidden = !done;
      segment.style.width = `${100 * done}%`;
      const { chip, count: number } = this.chips.get(status);
      chip.hidden = !count;
      setText(number, String(count));
      if (count) said.push(`${count} ${status}`);
    }
    this.bar.setAttribute("aria-label", `${percent(summary.share)} of the steps done; trials: ${said.join(", ")}`);
    if (this.lit && !counts[this.lit]) this.toggle(this.lit);
  }
}

/** The menu of what colours show, and their scale. */
export class Tools {
  /** `show` is called with one of the names of `VIEWS`. */
  constructor(root, show) {
    this.select = element("select", { onchange: () => show(this.select.value) });
    this.low = element("span");
    this.high = element("span");
    root.replaceChildren(
      element("label", {}, "colour ", this.select),
      element("div", { class: "scale" }, this.low, element("i", { "aria-hidden": "true" }), this.high),
      element("p", { class: "quiet hint", text: "Select a cell to see its curves; move with the arrow keys." }),
    );
  }

  build(layout, view) {
    const names = Object.keys(VIEWS).filter((name) => name !== "return" || layout.metric !== "episode_return");
    this.select.replaceChildren(...names.map((name) =>
      element("option", { value: name, text: VIEWS[name].label ?? layout.metricLabel })));
    this.select.value = view;
  }

  update(matrix) {
    const text = { left: duration, progress: percent, speed: short }[matrix.view] ?? number;
    setText(this.low, text(matrix.low));
    setText(this.high, text(matrix.high));
  }
}

/** Running trials and failed trials. */
export class Lists {
  constructor(root, open) {
    this.running = new TrialList("running", "Running now", open, ["track", "share", "speed", "left"]);
    this.failed = new TrialList("failed", "Failed", open, ["error"]);
    root.replaceChildren(this.running.root, this.failed.root);
  }

  update(matrix) {
    const cells = [...matrix.cells.values()];
    this.running.update(matrix, cells.filter((cell) => matrix.status(cell) === "running"), (cell, parts) => {
      parts.track.style.setProperty("--share", `${100 * cell.share}%`);
      setText(parts.share, percent(cell.share));
      setText(parts.speed, cell.speed ? `${short(cell.speed)}/s` : "");
      setText(parts.left, cell.left === null ? "" : `${duration(cell.left)} left`);
    });
    this.failed.update(matrix, cells.filter((cell) => ["failed", "unreadable"].includes(cell.status)), (cell, parts) =>
      setText(parts.error, cell.error));
  }
}

/** One list. Its elements are kept while their numbers change, so that focus and scrolling survive. */
class TrialList {
  constructor(kind, title, open, parts) {
    this.open = open;
    this.parts = parts;
    this.lines = new Map();
    this.title = title;
    this.heading = element("h2");
    this.list = element("ul");
    this.rest = element("p", { class: "quiet" });
    this.root = element("section", { class: kind, hidden: true }, this.heading, this.list, this.rest);
  }

  update(matrix, cells, fill) {
    const shown = cells.slice(0, LONGEST_LIST);
    if (this.layout !== matrix.layout) this.lines.clear();
    this.layout = matrix.layout;
    const lines = shown.map((cell) => {
      if (!this.lines.has(cell.id)) this.lines.set(cell.id, this.line(matrix, cell.id));
      const line = this.lines.get(cell.id);
      fill(cell, line.parts);
      return line.root;
    });
    if (lines.length !== this.list.children.length || lines.some((line, place) => line !== this.list.children[place])) {
      this.list.replaceChildren(...lines);
    }
    this.root.hidden = !cells.length;
    setText(this.heading, `${this.title} (${cells.length})`);
    setText(this.rest, cells.length > shown.length ? `and ${cells.length - shown.length} more in the map` : "");
  }

  line(matrix, id) {
    const { rows, panels, seeds } = matrix.layout;
    const { row, panel, seed } = matrix.buttons.get(id);
    const mark = element("i", { class: "mark", "aria-hidden": "true" });
    mark.style.setProperty("--light", panels[panel].colour);
    mark.style.setProperty("--dark", panels[panel].darkColour);
    const parts = Object.fromEntries(this.parts.map((name) => [name, element("span", { class: name })]));
    const button = element("button", { type: "button", onclick: () => this.open(id) },
      element("span", { class: "who" }, mark, element("b", { text: rows[row].label }),
        ` ${panels[panel].label} · seed ${seeds[seed]}`),
      ...Object.values(parts));
    return { root: element("li", {}, button), parts };
  }
}

/** The list of all grids. */
export function drawIndex(root, grids, address) {
  const cards = grids.map((grid) => element("li", { class: "card" }, ...card(grid, address)));
  const focused = root.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  root.replaceChildren(element("h1", { text: "Grids" }), element("ul", { class: "cards" }, ...cards));
  [...root.querySelectorAll("a")].find((link) => link.getAttribute("href") === focused)?.focus();
}

function card(grid, address) {
  const title = element("h2", { text: grid.id });
  if (grid.problem) return [title, element("p", { class: "error", text: grid.problem })];
  const counts = countsOf(grid.summary);
  const shares = sharesOf(grid.summary);
  const statuses = STATUSES.filter((status) => shares[status]).map((status) => {
    const part = element("i", { class: status });
    part.style.width = `${100 * shares[status]}%`;
    return part;
  });
  const said = STATUSES.filter((status) => counts[status]).map((status) => `${counts[status]} ${status}`).join(", ");
  const about = [grid.experiment, grid.scale, percent(grid.summary.share)].filter(Boolean);
  if (counts.running && grid.summary.left !== null) about.push(`${duration(grid.summary.left)} left`);
  return [element("a", { href: address(grid.id) }, title,
    element("p", { class: "quiet", text: about.join(" · ") }),
    element("div", { class: "statuses", "aria-hidden": "true" }, ...statuses),
    element("p", { class: "quiet", text: said }))];
}
