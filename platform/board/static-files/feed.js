// Fetching: periodically while the page is visible, never while the tab is hidden.

/** An error response, with the server's message. */
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** No answer at all. */
export class Unreachable extends Error {}

/** The JSON at an address relative to the page, and its tag. */
export async function fetchData(address, signal) {
  const response = await fetch(address, { signal }).catch((error) => {
    throw new Unreachable(error.message);
  });
  const data = await response.json();
  if (!response.ok) throw new Refused(response.status, data.problem ?? response.statusText);
  return { data, tag: response.headers.get("ETag") };
}

/** Calls `ask` repeatedly; `ask` returns how many seconds to wait, or throws. */
export class Feed {
  constructor(ask, onState) {
    this.ask = ask;
    this.onState = onState;
    this.timer = null;
    this.failures = 0;
    this.turn = 0;
    document.addEventListener("visibilitychange", () => (document.hidden ? this.pause() : this.now()));
  }

  /** Ask at once; a pending answer is dropped. */
  now() {
    clearTimeout(this.timer);
    this.abort?.abort();
    this.abort = new AbortController();
    this.run(++this.turn, this.abort.signal);
  }

  pause() {
    clearTimeout(this.timer);
    this.onState("paused");
  }

  async run(turn, signal) {
    let wait;
    try {
      wait = await this.ask(signal);
      this.failures = 0;
      if (turn === this.turn) this.onState("live");
    } catch (error) {
      if (turn !== this.turn) return;
      wait = Math.min(30, 2 * 1.5 ** this.failures++);
      if (error instanceof Refused) this.onState("refused", error.message);
      else if (error instanceof Unreachable) this.onState("offline");
      else reportError(error);
    }
    if (turn !== this.turn || document.hidden) return;
    this.timer = setTimeout(() => this.now(), 1000 * wait);
  }
}
