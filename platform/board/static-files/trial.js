// One trial: its status, video, error and curves.
import { Chart } from "./chart.js";
import { element, setText } from "./dom.js";
import { duration, number, percent, short } from "./format.js";

const STATUS_TEXT = {
  waiting: "waiting", running: "running", finished: "finished", failed: "failed",
  unreadable: "unreadable", interrupted: "interrupted",
};

export class TrialView {
  /** `close` is called when the user closes the trial. */
  constructor(root, close) {
    this.root = root;
    this.close = close;
  }

  /** Empty the view for another trial. */
  begin(id, address, panel) {
    this.id = id;
    this.address = address;
    this.charts = new Map();
    this.videoTime = null;
    this.root.style.setProperty("--light", panel.colour);
    this.root.style.setProperty("--dark", panel.darkColour);
    this.title = element("h2", { tabindex: "-1" });
    this.what = element("p", { class: "what" });
    this.facts = element("dl", { class: "facts" });
    this.bar = element("i");
    this.links = element("p", { class: "links" });
    this.problem = element("div", { class: "problem", hidden: true });
    this.video = element("div", { class: "video", hidden: true });
    this.curves = element("div", { class: "curves" }, element("p", { class: "quiet", text: "loading …" }));
    const shut = element("button",
      { class: "shut", type: "button", "aria-label": "Close", onclick: this.close, text: "✕" });
    this.root.replaceChildren(
      element("header", {}, this.title, shut),
      this.what, element("div", { class: "progress", "aria-hidden": "true" }, this.bar),
      this.facts, this.links, this.problem, this.video, this.curves,
    );
    this.root.hidden = false;
    this.root.scrollTop = 0;
  }

  /** Show what the server knows of the trial. */
  update(page, summary) {
    const { cell, labels } = page;
    const status = cell.status === "running" && summary.interrupted ? "interrupted" : cell.status;
    setText(this.title, labels.task ?? cell.id);
    const more = [labels.variant, labels.contexts && labels.contexts !== "inf" ? `${labels.contexts} contexts` : null];
    this.what.replaceChildren(element("b", { text: labels.bonus ?? "" }),
      [`  ${labels.scope ?? ""}`, `seed ${labels.seed}`, ...more].filter(Boolean).join(" · "));
    this.root.dataset.status = status;
    this.bar.style.width = `${100 * cell.share}%`;
    this.showFacts(cell, status);
    this.showLinks(page, summary);
    this.showProblem(page);
    this.showVideo(page.video);
    this.showCurves(page.curves);
  }

  showFacts(cell, status) {
    const facts = [
      ["status", cell.share > 0 && cell.share < 1 ? `${STATUS_TEXT[status]} at ${percent(cell.share)}` : STATUS_TEXT[status]],
      [cell.label, number(cell.metric)],
      ...(cell.column === "episode_return" ? [] : [["return", number(cell.return)]]),
      ["steps", cell.steps < cell.total ? `${short(cell.steps)} of ${short(cell.total)}` : short(cell.steps)],
      ["speed", cell.speed ? `${short(cell.speed)} steps/s` : "–"],
      status === "running" ? ["time left", duration(cell.left)] : ["time spent", duration(cell.seconds)],
    ];
    if (cell.attempts > 1) facts.push(["attempts", String(cell.attempts)]);
    this.facts.replaceChildren(...facts.map(([name, value]) =>
      element("div", {}, element("dt", { text: name }), element("dd", { text: value }))));
  }

  showLinks(page, summary) {
    const outside = (text, href) => element("a", { href, target: "_blank", rel: "noopener noreferrer", text });
    const links = [];
    if (page.mlflow.href) links.push(outside("run in MLflow ↗", page.mlflow.href));
    else if (page.mlflow.run) {
      const text = `MLflow run ${page.mlflow.run.slice(0, 8)}… (bonuslab ui)`;
      links.push(element("span", { class: "quiet", text, title: page.mlflow.run }));
    }
    // Ray's dashboard ends with the grid's driver.
    if (page.ray && summary.counts.running && !summary.interrupted) links.push(outside("Ray dashboard ↗", page.ray));
    this.links.replaceChildren(...links);
  }

  showProblem(page) {
    const text = page.traceback || page.cell.error;
    this.problem.hidden = !text || !["failed", "unreadable", "running", "waiting"].includes(page.cell.status);
    if (this.problem.hidden || this.problem.dataset.text === text) return;
    this.problem.dataset.text = text;
    const past = ["running", "waiting"].includes(page.cell.status);
    const title = past ? "An earlier attempt failed" : page.cell.error || "Failed";
    this.problem.replaceChildren(element("h3", { text: title }));
    if (page.traceback) {
      this.problem.append(element("details", { open: !past }, element("summary", { text: "traceback" }),
        element("pre", { tabindex: "0", text: page.traceback })));
    }
  }

  showVideo(time) {
    if (time === this.videoTime) return;
    this.videoTime = time;
    this.video.hidden = time === null;
    if (time === null) return;
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const src = `${this.address}/video.gif?${time}`;
    this.video.replaceChildren(element("details", { open: !still },
      element("summary", { text: "an episode of the trained policy" }),
      element("img", { src, alt: "One episode of the trained policy", loading: "lazy" })));
  }

  showCurves(curves) {
    if (!curves.columns.length) {
      this.charts.clear();
      this.curves.replaceChildren(element("p", { class: "quiet", text: "no metrics yet" }));
      return;
    }
    const names = curves.columns.map((column) => column.name).join("\n");
    if (names !== [...this.charts.keys()].join("\n")) this.buildCharts(curves.columns);
    for (const column of curves.columns) this.charts.get(column.name).update(curves.steps, column);
  }

  buildCharts(columns) {
    this.charts = new Map();
    const groups = new Map();
    const point = (place) => {
      for (const chart of this.charts.values()) chart.showAt(place);
    };
    for (const column of columns) {
      const chart = new Chart(column, point);
      this.charts.set(column.name, chart);
      if (!groups.has(column.group)) groups.set(column.group, element("div", { class: "charts" }));
      groups.get(column.group).append(chart.root);
    }
    this.curves.replaceChildren(...[...groups].map(([name, charts]) =>
      element("section", {}, element("h3", { text: name }), charts)));
  }
}
