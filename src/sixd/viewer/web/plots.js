// The panel of plots: which trajectory, a chart for each quantity, legends with values, scrubbing by the pointer.

const MOST_NAMES = 10; // in a legend that was not opened
const APART = [8, 1000]; // ratio of ranges from which larger lines get a plot of their own, and up to which: beyond it the others are at rest

class PlotPanel {
  // seek(time) is called when the reader points at a time
  constructor(dock, world, seek) {
    Object.assign(this, { dock, world, seek });
    this.hover = null;
    this.charts = [];
    const sources = world.scene.trajectories;
    const head = element("div", "dockhead");
    head.append(element("h2", "", "Plots"));
    this.body = element("div");
    dock.append(head, this.body);
    const withPlots = sources.map((source, i) => i).filter((i) => (sources[i].plots || []).length);
    if (withPlots.length > 1) head.append(this.chooser(withPlots));
    this.show(withPlots.length > 1 && withPlots.length <= 3 ? withPlots : withPlots.slice(0, 1));
  }

  chooser(indices) {
    const select = element("select");
    select.id = "p-which";
    select.setAttribute("aria-label", "Trajectory");
    const name = (i) => this.world.scene.trajectories[i].name || `motion ${i + 1}`;
    if (indices.length <= 3) select.append(new Option("all", "all"));
    for (const i of indices) select.append(new Option(name(i), i));
    select.onchange = () => {
      this.show(select.value === "all" ? indices : [Number(select.value)]);
      this.draw(this.last.time, this.last.dark);
    };
    return select;
  }

  // the charts of some trajectories; quantities of the same title share one
  show(indices) {
    const groups = new Map();
    indices.forEach((index, order) => {
      const motion = this.world.motions[index], several = indices.length > 1;
      for (const plot of this.world.scene.trajectories[index].plots || []) {
        if (!groups.has(plot.title)) groups.set(plot.title, []);
        (plot.series || []).forEach((source, ink) => {
          const values = this.valuesOf(source, motion), t = Number.isInteger(source.coordinate) ? motion.t : motion.plotT;
          const label = several ? `${isolated(source.label)} · ${isolated(motion.name || index + 1)}` : source.label;
          const dash = [[], [5, 3], [1.5, 2.5]][order % 3];
          const count = Math.min(values.length, t.length);
          groups.get(plot.title).push({ label: label || "", source, values, t, count, dash, ink, unit: plot.unit });
        });
      }
    });
    this.body.replaceChildren();
    this.body.classList.remove("alone");
    this.charts = [...groups].flatMap(([title, series]) => this.apart(series).map((part, i) => this.chart(i ? `${title}, larger` : title, part)));
    // a few plots share the height of the panel
    this.body.classList.toggle("tall", this.charts.length < 3);
    if (!this.charts.length) this.body.append(element("p", "", "This motion has no plots."));
  }

  // the series in one plot, or in two if a few are so large that the others would look flat: [small ones, large ones]
  apart(series) {
    if (!series.length || !series[0].unit || series[0].unit === "J") return [series];
    const ranges = new Map();
    for (const one of series) {
      const [low, high] = extremesOf(one);
      ranges.set(one.ink, Math.max(ranges.get(one.ink) || 0, high - low));
    }
    const sorted = [...ranges.values()].filter(Number.isFinite).sort((a, b) => b - a);
    // only a few large ones are separated, not one small one from all others
    const isGap = (range, k) => k > 0 && 2 * k <= sorted.length && sorted[k - 1] > APART[0] * range && sorted[0] < APART[1] * range;
    const cut = sorted.findIndex(isGap);
    if (cut < 0) return [series];
    const large = (one) => ranges.get(one.ink) > sorted[cut] * (1 + 1e-9);
    return [series.filter((one) => !large(one)), series.filter(large)];
  }

  valuesOf(source, motion) {
    if (!Number.isInteger(source.coordinate)) return decodeArray(source.values);
    return Float32Array.from({ length: motion.records }, (_, r) => motion.q[r * motion.nq + source.coordinate]);
  }

  chart(title, series) {
    const box = element("section", "plot"), head = element("h3"), canvas = element("canvas"), legend = element("div", "legend");
    const read = element("time"), name = element("button", "name", title);
    name.title = `${title}: click to show this plot alone, again to show all`;
    name.onclick = () => this.isolate(box);
    head.append(name, read);
    box.append(head, canvas, legend);
    this.body.append(box);
    canvas.setAttribute("aria-label", `${title} against time`);
    const chart = new Chart(canvas, series, this.world.start, this.world.end);
    chart.read = read;
    chart.chips = series.map((one, i) => this.chip(chart, one, i, legend));
    if (series.length > MOST_NAMES + 1) this.shorten(legend, series.length - MOST_NAMES);
    const point = (event) => chart.timeAt(event.clientX - canvas.getBoundingClientRect().left);
    canvas.onpointerdown = (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.hover = null;
      this.seek(point(event));
    };
    canvas.onpointermove = (event) => {
      if (event.buttons & 1) this.seek(point(event));
      else {
        this.hover = point(event);
        this.draw(this.last.time, this.last.dark);
      }
    };
    canvas.onpointerleave = () => {
      this.hover = null;
      this.draw(this.last.time, this.last.dark);
    };
    return chart;
  }

  chip(chart, series, index, legend) {
    const chip = element("button", "chip"), key = element("i"), value = element("em");
    const label = element("b", "", series.label);
    chip.append(key, label, value);
    chip.title = `${series.label}: click to show it alone, again to show all; with shift to hide or show it`;
    chip.setAttribute("aria-pressed", "true");
    chip.onclick = (event) => {
      const others = chart.series.map((_, i) => i).filter((i) => i !== index);
      const alone = !chart.hidden.has(index) && others.every((i) => chart.hidden.has(i));
      if (!event.shiftKey) chart.hidden = new Set(alone ? [] : others);
      else if (!chart.hidden.delete(index)) chart.hidden.add(index);
      this.marked(chart);
    };
    legend.append(chip);
    return { chip, key, value };
  }

  // shows one plot alone, larger; all of them if it is already alone
  isolate(box) {
    const others = [...this.body.children].filter((one) => one !== box), alone = others.every((one) => one.hidden);
    for (const one of others) one.hidden = !alone;
    this.body.classList.toggle("alone", !alone && others.length > 0);
    box.querySelector(".name").setAttribute("aria-pressed", String(!alone));
    this.dock.scrollTop = 0;
    this.draw(this.last.time, this.last.dark);
  }

  // the names beyond the first few are shown by a button
  shorten(legend, count) {
    const rest = [...legend.children].slice(MOST_NAMES), more = element("button", "chip more", `… and ${count} more`);
    for (const chip of rest) chip.hidden = true;
    more.onclick = () => {
      for (const chip of rest) chip.hidden = false;
      more.remove();
      this.draw(this.last.time, this.last.dark);
    };
    legend.append(more);
  }

  marked(chart) {
    chart.chips.forEach(({ chip }, i) => chip.setAttribute("aria-pressed", String(!chart.hidden.has(i))));
    this.draw(this.last.time, this.last.dark);
  }

  draw(time, dark) {
    this.last = { time, dark };
    if (this.dock.hidden) return;
    const top = this.dock.offsetTop + this.dock.scrollTop, bottom = top + this.dock.clientHeight;
    for (const chart of this.charts) {
      // charts that are scrolled out of view are not drawn
      const section = chart.canvas.parentElement;
      if (section.hidden || section.offsetTop > bottom + 60 || section.offsetTop + section.offsetHeight < top - 60) continue;
      chart.draw(time, this.hover, dark);
      const at = this.hover ?? time, { write, width } = this.format(chart);
      chart.read.textContent = this.hover === null ? "" : `t = ${readable(at)} s`;
      chart.chips.forEach(({ key, value }, i) => {
        key.style.background = chart.ink(i, dark);
        value.textContent = write(valueAt(chart.series[i], at));
        value.style.minWidth = `${width}ch`;
      });
    }
  }

  // one format for all numbers of a plot, including hidden lines
  format(chart) {
    if (!chart.format) {
      const all = chart.series.map(extremesOf).filter(([low, high]) => low <= high);
      chart.format = formatter(Math.min(0, ...all.map(([low]) => low)), Math.max(0, ...all.map(([, high]) => high)));
    }
    return chart.format;
  }
}
