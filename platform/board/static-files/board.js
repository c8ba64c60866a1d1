// The page: which grid and trial the address names, when to fetch them, and what draws them.
import { ComparisonView } from "./comparison.js";
import { element, setText } from "./dom.js";
import { Feed, fetchData } from "./feed.js";
import { duration, percent } from "./format.js";
import { Matrix } from "./matrix.js";
import { Lists, Overview, Tools, drawIndex } from "./overview.js";
import { TrialView } from "./trial.js";

const BUSY_SECONDS = 2;
const IDLE_SECONDS = 10;
const INDEX_SECONDS = 5;
const PICK_SECONDS = 30;
const TRIAL_SECONDS = 15;
const COMPARISON_SECONDS = 4;
const byId = (id) => document.getElementById(id);

const state = { grid: null, trial: null, version: "", layout: null, summary: null, tag: null, fetchedAt: 0, wait: 0 };
const compared = { metric: "", tag: null, dueAt: 0 };
let indexDue = 0;

const matrix = new Matrix(byId("matrix"), (id) => go({ trial: id }));
const overview = new Overview(byId("overview"), (status) => matrix.emphasise(status));
const tools = new Tools(byId("tools"), (view) => {
  matrix.show(view);
  tools.update(matrix);
});
const comparison = new ComparisonView(byId("comparison"), (metric) => {
  Object.assign(compared, { metric, tag: null, dueAt: 0 });
  feed.now();
});
const lists = new Lists(byId("lists"), (id) => go({ trial: id }));
const trialView = new TrialView(byId("trial"), closeTrial);
const feed = new Feed(refresh, showLife);

/** Grid and trial as the address names them: #grid=NAME&trial=ID. */
function addressed() {
  const query = new URLSearchParams(location.hash.slice(1));
  return { grid: query.get("grid"), trial: query.get("trial") };
}

function hashOf(grid, trial) {
  const query = new URLSearchParams();
  if (grid) query.set("grid", grid);
  if (trial) query.set("trial", trial);
  return `#${query}`;
}

function go({ grid = state.grid, trial = null }) {
  location.hash = hashOf(grid, trial);
}

function closeTrial() {
  const id = state.trial;
  go({ trial: null });
  matrix.focus(id);
}

/** Fetch and show what the address names. */
function follow() {
  const wanted = addressed();
  if (wanted.grid !== state.grid) {
    Object.assign(state, { grid: wanted.grid, version: "", layout: null, summary: null });
    Object.assign(compared, { metric: "", tag: null, dueAt: 0 });
    byId("grid").hidden = true;
    byId("comparison").hidden = true;
    document.body.classList.remove("single");
    byId("grids").value = wanted.grid ?? "";
    say("");
  }
  state.trial = wanted.trial ?? onlyTrial();
  state.tag = null;
  state.fetchedAt = 0;
  byId("trial").hidden = true;
  document.body.classList.toggle("with-trial", state.trial !== null);
  matrix.select(state.trial);
  if (state.trial !== null && state.layout) beginTrial();
  feed.now();
}

/** The trial of a run by itself, whose page is always open. */
function onlyTrial() {
  return state.layout?.trials.length === 1 ? state.layout.trials[0].id : null;
}

const trialAddress = () => `api/grids/${encodeURIComponent(state.grid)}/trials/${encodeURIComponent(state.trial)}`;

function beginTrial() {
  const place = state.layout.trials.find((trial) => trial.id === state.trial);
  if (!place) {
    state.trial = null;
    return go({});
  }
  trialView.begin(state.trial, trialAddress(), state.layout.panels[place.panel]);
  if (!onlyTrial()) trialView.title.focus({ preventScroll: true });
  matrix.select(state.trial);
}

/** One round: the list of grids occasionally, the grid, the trial. Returns the seconds to wait. */
async function refresh(signal) {
  if (state.grid === null || performance.now() > indexDue) await refreshIndex(signal);
  if (state.grid === null) return INDEX_SECONDS;
  await refreshGrid(signal);
  const { counts, interrupted } = state.summary;
  const busy = (counts.running || counts.waiting) && !interrupted;
  return Math.max(state.wait, busy ? BUSY_SECONDS : IDLE_SECONDS);
}

async function refreshIndex(signal) {
  const { data } = await fetchData("api/grids", signal);
  const grids = data.grids;
  indexDue = performance.now() + 1000 * PICK_SECONDS;
  offer(grids.map((grid) => grid.id));
  if (state.grid !== null) return;
  // One grid alone needs no list.
  if (grids.length === 1 && !grids[0].problem) return location.replace(hashOf(grids[0].id));
  byId("index").hidden = false;
  document.title = "bonuslab board";
  drawIndex(byId("index"), grids, (id) => hashOf(id));
  say(grids.length ? "" : "No grid yet; start one with `bonuslab grid` or `make grid`.");
}

/** The menu of grids; replaced only if it differs, since it may be open. */
function offer(names) {
  const select = byId("grids");
  const there = [...select.options].slice(1).map((option) => option.value);
  if (names.join("\n") !== there.join("\n")) {
    select.replaceChildren(element("option", { value: "", text: "all grids" }),
      ...names.map((name) => element("option", { value: name, text: name })));
    byId("pick").hidden = names.length < 2;
  }
  if (document.activeElement !== select) select.value = state.grid ?? "";
}

async function refreshGrid(signal) {
  const grid = state.grid;
  const { data } = await fetchData(`api/grids/${encodeURIComponent(grid)}?since=${state.version}`, signal);
  if (grid !== state.grid) return;
  Object.assign(state, { version: data.version, summary: data.summary, wait: data.wait });
  if (data.layout) {
    state.layout = data.layout;
    state.trial ??= onlyTrial();
    document.body.classList.toggle("single", onlyTrial() !== null);
    Object.assign(compared, { tag: null, dueAt: 0 });
    matrix.build(data.layout);
    tools.build(data.layout, matrix.view);
  }
  matrix.update(data.cells, data.summary);
  overview.update(state.layout, data.summary);
  tools.update(matrix);
  if (data.cells.length || data.layout) lists.update(matrix);
  byId("index").hidden = true;
  byId("grid").hidden = false;
  document.title = `${percent(data.summary.share)} · ${state.layout.name} · bonuslab board`;
  reportInterruption();
  if (data.layout && state.trial !== null) beginTrial();
  if (performance.now() > compared.dueAt) await refreshComparison(signal);
  if (state.trial !== null) await refreshTrial(data.cells.some((cell) => cell.id === state.trial), signal);
}

/** The curves by bonus, of the metric that was chosen. */
async function refreshComparison(signal) {
  const { grid } = state;
  const { metric } = compared;
  const query = metric ? `?metric=${encodeURIComponent(metric)}` : "";
  const { data, tag } = await fetchData(`api/grids/${encodeURIComponent(grid)}/comparison${query}`, signal);
  if (grid !== state.grid || metric !== compared.metric) return;
  compared.dueAt = data.unread ? 0 : performance.now() + 1000 * COMPARISON_SECONDS;
  if (tag === compared.tag) return;
  compared.tag = tag;
  comparison.update(data, state.layout);
}

/** The open trial is fetched when its cell changed, and periodically for its video and its run in MLflow. */
async function refreshTrial(changed, signal) {
  if (!changed && performance.now() - state.fetchedAt < 1000 * TRIAL_SECONDS && state.tag) return;
  const id = state.trial;
  const { data, tag } = await fetchData(trialAddress(), signal);
  if (id !== state.trial) return;
  state.fetchedAt = performance.now();
  if (tag === state.tag) return;
  state.tag = tag;
  trialView.update(data, state.summary);
}

function reportInterruption() {
  const { interrupted, quiet } = state.summary;
  const again = state.layout.command ? ` Resume it with the same command: ${state.layout.command}` : "";
  const since = quiet < 1e8 ? `; it last changed ${duration(quiet)} ago` : "";
  say(interrupted ? `No process is running this grid${since}.${again}` : "");
}

function say(text) {
  byId("notice").hidden = !text;
  setText(byId("notice"), text);
}

function showLife(life, message = "") {
  const shown = { live: "live", paused: "paused", offline: "offline", refused: "waiting" }[life];
  byId("live").className = `live ${life}`;
  setText(byId("live"), shown);
  if (life === "offline") say("The board is not responding: it was stopped, or the connection was lost. Retrying …");
  if (life === "refused") {
    say(`${message}. Retrying …`);
    state.version = "";
    indexDue = 0;
  }
}

byId("grids").addEventListener("change", (event) => go({ grid: event.target.value || null }));
window.addEventListener("hashchange", follow);
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && state.trial !== null && !onlyTrial()) closeTrial();
});
follow();
