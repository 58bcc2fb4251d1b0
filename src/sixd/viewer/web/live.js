// The controls of a live page: the clock that steps, the bar below the picture, sliders and plots.

const BUDGET = 14, SHARE = 0.3, MOST_BUDGET = 40; // [ms] of a frame for steps; of one that is slow to draw, a part, and at most
// before the motion starts: the least simulated time of a rehearsal [s], the most time of it [ms], the pace that ends it, and
// its part of a frame [ms]. The browser compiles what it has run some hundred times; a quadruped's steps on rigid ground take 2 ms until then, and 0.1 ms afterwards
const REHEARSAL = { least: 1, most: 2000, pace: 2, budget: 40 };
const SLOWED = 0.9; // of the chosen speed: below this the page says how fast it runs

// Runs the motion from its start for a while, out of sight, so that the browser compiles the step.
class Rehearsal {
  constructor(simulation) {
    this.simulation = simulation;
    this.arrays = Object.values(simulation.arrays);
    this.state = this.arrays.map((array) => array.slice());
    Object.assign(this, { steps: 0, begun: null });
  }

  // some steps; true once it has ended. The state that the page shows stays
  run() {
    const { arrays, simulation } = this, shown = arrays.map((array) => array.slice()), start = performance.now();
    arrays.forEach((array, k) => array.set(this.state[k]));
    let steps = 0;
    for (; performance.now() < start + REHEARSAL.budget && simulation.q.every(Number.isFinite); steps++) simulation.advanceState();
    this.state = arrays.map((array) => array.slice());
    arrays.forEach((array, k) => array.set(shown[k]));
    const passed = Math.max(performance.now() - start, 1e-3), pace = (1000 * simulation.h * steps) / passed;
    this.steps += steps;
    this.begun = this.begun || start;
    return start + passed > this.begun + REHEARSAL.most || steps === 0 || (this.steps * simulation.h > REHEARSAL.least && pace > REHEARSAL.pace);
  }
}

class LiveClock {
  constructor(simulation, options) {
    Object.assign(this, { simulation, options, start: 0, end: 0, playing: false, before: null, owed: 0 });
    this.pace = 1; // simulated time by time at the chosen speed, smoothed
    this.rehearsal = new Rehearsal(simulation);
  }

  get time() { return this.simulation.time; }
  get length() { return 0; }

  play() {
    if (this.simulation.failed) this.simulation.reset();
    this.playing = true;
    this.before = null;
    this.owed = 0;
  }

  pause() { this.playing = false; }

  // back to the start, and from there to a time
  seek(time = 0) {
    this.simulation.reset();
    while (this.time < finite(time) - 0.5 * this.simulation.h && this.simulation.step());
  }

  // as many steps as have become due, or as fit into the frame; true while it runs
  advance(now) {
    if (!this.playing) return false;
    if (this.rehearsal) {
      if (this.rehearsal.run() || this.time > 0 || this.simulation.pull) this.rehearsal = null;
      return true;
    }
    const passed = this.before === null ? 0 : Math.max(now - this.before, 0) / 1000;
    this.before = now;
    // a page that was hidden for a while continues where it stopped
    const due = passed > 1 ? 0 : passed * this.options.speed, { simulation } = this;
    this.owed += due;
    const until = performance.now() + clamp(1000 * SHARE * passed, BUDGET, MOST_BUDGET);
    let done = 0;
    while (this.owed >= simulation.h) {
      if (!simulation.step()) {
        this.playing = false;
        return false;
      }
      this.owed -= simulation.h;
      done += simulation.h;
      if (performance.now() > until) {
        this.owed = Math.min(this.owed, simulation.h);
        break;
      }
    }
    if (due > 0) this.pace += 0.08 * (Math.min(done / due, 1.05) - this.pace);
    return true;
  }
}

class LiveTransport {
  constructor(clock, simulation, options, changed) {
    Object.assign(this, { clock, simulation, options, changed });
    const get = (id) => document.getElementById(id);
    this.bar = get("transport");
    this.bar.hidden = false;
    document.body.classList.add("live");
    Object.assign(this, { button: get("t-play"), speed: get("t-speed"), read: get("t-time"), back: get("t-back"), forward: get("t-forward") });
    for (const id of ["t-scrub", "t-reverse", "t-loop"]) get(id).hidden = true;
    const use = this.button.querySelector("use");
    this.icon = (name) => use.setAttribute("href", `#i-${name}`);
    this.button.onclick = () => this.toggle();
    this.back.title = "Back to the start (R)";
    this.back.querySelector("use").setAttribute("href", "#i-reset");
    this.back.onclick = () => this.seek();
    this.forward.title = "One step (→)";
    this.forward.onclick = () => this.step(1);
    this.speed.onchange = () => (options.speed = finite(this.speed.value, 1));
    this.slow = element("span", "slow");
    this.read.after(this.slow);
    options.onChange(() => this.show());
    this.show();
  }

  toggle() {
    if (this.clock.playing) this.clock.pause();
    else this.clock.play();
    this.changed();
  }

  seek() {
    this.clock.seek();
    this.changed();
  }

  step(direction, times = 1) {
    if (direction < 0) return;
    this.clock.pause();
    for (let i = 0; i < times && this.simulation.step(); i++);
    this.changed();
  }

  shift(direction) {
    const better = SPEEDS.filter((s) => (s - this.options.speed) * direction > 1e-9);
    if (better.length) this.options.speed = direction > 0 ? better[0] : better[better.length - 1];
  }

  show() {
    const { clock, options } = this, bold = element("b", "", clock.time.toFixed(3));
    this.read.replaceChildren(bold, element("small", "", " s"));
    this.icon(clock.playing ? "pause" : "play");
    this.button.setAttribute("aria-label", clock.playing ? "Pause" : "Run");
    const slow = clock.playing && clock.pace < SLOWED;
    // the reader learns by it that bodies can be pulled
    const hint = this.simulation.grabbed ? "" : "drag a body";
    this.slow.textContent = clock.playing && clock.rehearsal ? "preparing …" : slow ? `slowed to ${(clock.pace * options.speed).toPrecision(2)}×` : hint;
    this.slow.classList.toggle("warn", slow);
    if (this.shownSpeed === options.speed) return;
    this.shownSpeed = options.speed;
    const list = [...new Set([...SPEEDS, options.speed])].sort((a, b) => a - b);
    this.speed.replaceChildren(...list.map((s) => new Option(`${s}×`, s, false, s === options.speed)));
  }
}

// the panel: sliders above, plots below
class LivePanel {
  constructor(dock, world, changed) {
    this.simulation = world.simulation;
    this.changed = changed;
    this.rows = [];
    const { sliders } = this.simulation;
    if (sliders.length) dock.append(this.head(), ...sliders.map((slider) => this.row(slider)));
    this.plots = new LivePlots(dock, world);
    this.show();
  }

  head() {
    const head = element("div", "dockhead"), reset = element("button", "text", "Reset");
    reset.id = "l-reset";
    reset.title = "The sliders as they were at first";
    reset.onclick = () => {
      for (const slider of this.simulation.sliders) this.simulation.set(slider, slider.start);
      this.put();
    };
    head.append(element("h2", "", "Parameters"), reset);
    return head;
  }

  row(slider) {
    const box = element("div", "coordinate parameter"), input = element("input"), number = element("input");
    const name = element("label", "", slider.unit ? `${slider.label} [${slider.unit}]` : slider.label);
    Object.assign(input, { type: "range", min: slider.low, max: slider.high, step: "any" });
    Object.assign(number, { type: "number", step: "any" });
    for (const one of [input, number]) one.setAttribute("aria-label", slider.label);
    const set = (value) => {
      this.simulation.set(slider, clamp(value, slider.low, slider.high));
      this.put();
    };
    input.oninput = () => set(input.valueAsNumber);
    number.onchange = () => set(finite(number.valueAsNumber, slider.value));
    input.ondblclick = () => set(slider.start);
    box.append(name, input, number);
    this.rows.push({ slider, input, number });
    return box;
  }

  put() {
    this.show();
    this.changed();
  }

  show() {
    for (const { slider, input, number } of this.rows) {
      input.value = String(slider.value);
      input.style.setProperty("--done", `${(100 * (slider.value - slider.low)) / (slider.high - slider.low)}%`);
      if (document.activeElement !== number) number.value = String(Number(slider.value.toPrecision(4)));
    }
  }

  draw(time, dark) { this.plots.draw(time, dark); }
}

class LivePlots extends PlotPanel {
  constructor(dock, world) {
    super(dock, world, () => {});
    const { data, history } = (this.simulation = world.simulation);
    let k = 0;
    this.body.replaceChildren();
    this.charts = data.plots.map(({ title, unit, series }) => {
      const lines = series.map(({ label }, ink) => ({ label: plainText(label), at: k++, t: history.t, values: history.t, count: 0, dash: [], ink, unit }));
      return this.chart(plainText(title), lines);
    });
    this.last = { time: 0, dark: false };
    this.drawn = -Infinity;
  }

  // the lines move on: at most twenty pictures a second, unless the pointer asks
  draw(time, dark) {
    const { history } = this.simulation, now = performance.now(), key = `${time} ${dark} ${this.hover} ${history.count}`;
    this.last = { time, dark };
    if (this.dock.hidden || (now - this.drawn < 50 && this.hover === null && time !== 0)) return;
    if (key === this.shown && !this.stale) return;
    [this.drawn, this.shown, this.stale] = [now, key, false];
    const [first, end] = history.window;
    for (const chart of this.charts) {
      const until = history.t[end - 1];
      chart.start = Math.max(0, until - WINDOW);
      chart.end = Math.max(until, until <= 2 ? 2 : until <= 5 ? 5 : WINDOW);
      for (const one of chart.series) {
        one.t = history.t.subarray(first, end);
        one.values = history.series[one.at].values.subarray(first, end);
        one.count = end - first;
        one.extremes = null;
      }
      chart.key = chart.format = null;
    }
    super.draw(Math.min(time, history.t[end - 1]), dark);
  }

  marked(chart) {
    this.stale = true;
    this.drawn = -Infinity;
    super.marked(chart);
  }
}
