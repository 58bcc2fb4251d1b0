// The simulation of a live page: the state, its steps, the sliders as inputs, the force by which a body is pulled. Draws nothing.

// the spring of the reader's hand: its rate [1/s] on the whole mass, limits by the step, damping ratio, most inertia by the whole mass
const PULL = { rate: 10, stiff: 0.25, damp: 0.3, ratio: 0.5, most: 30 };
const RECORD = 0.01, TRACE = 0.002; // [s] between records for plots, and between points of paths
const WINDOW = 10; // [s] that plots show
const MOST_POINTS = 6000; // of a path
const KEPT = 1000, MOST_ENERGIES = 50000; // last states, and energies computed of them, to find out why a motion failed
const SINGULAR = 5e-3; // of a coordinate's inertia at the start: with less, damping of 5/s is unstable in steps of 1 ms

class Simulation {
  // `module` is generated: arrays by name, step() and programs; `data` is the scene's entry
  constructor(module, data, bodies) {
    const { arrays, programs } = module;
    Object.assign(this, { data, arrays, programs, bodies: bodies.length });
    this.advanceState = module.step;
    this.h = data.h;
    this.inputs = data.inputs.map((name) => arrays[name]);
    this.sliders = data.sliders.map((slider) => ({ ...slider, start: slider.value, array: arrays[slider.input] }));
    const size = 12 * Math.max(this.bodies - 1, 0), count = Object.values(data.observed).reduce((a, b) => a + b, 0);
    this.pose = new Float64Array(size);
    this.rate = new Float64Array(size);
    this.observed = new Float64Array(count);
    this.observedAt = {};
    let first = 0;
    for (const [name, n] of Object.entries(data.observed)) [this.observedAt[name], first] = [first, first + n];
    this.pulling = new Float64Array(1); // [N]
    this.reactions = new Float64Array(3 * data.reactions.length); // [N] in the page
    this.reactionSizes = new Float64Array(data.reactions.length);
    this.contacts = data.contacts; // points that a ground may touch
    this.touching = new Float64Array(6 * this.contacts); // where they are in the page, then forces [N]
    this.groundForce = new Float64Array(1); // [N] the size of the sum of these
    this.shownForces = new Mean(arrays.u);
    this.plottedForces = new Mean(arrays.u);
    this.weight = Math.max(bodies.reduce((sum, body) => sum + Math.max(finite(body.mass), 0), 0) * 9.81, 1e-9); // [N] the scale of arrows
    this.mass = bodies.reduce((sum, body) => sum + Math.max(finite(body.mass), 0), 0);
    this.turn = data.turn; // page = turn · world
    this.paths = data.traces.length ? data.traces : bodies.slice(1).map(({ name, com }, i) => ({ name, body: i + 1, point: finiteList(com, 3) }));
    this.tracing = data.traces.length > 0; // paths are recorded while they are shown
    this.kept = new Float64Array(KEPT * this.q.length);
    this.reset();
  }

  get q() { return this.arrays.q; }
  get qd() { return this.arrays.qd; }
  get time() { return this.arrays.steps[0] * this.h; }

  reset() {
    const { arrays, data } = this;
    for (const name of Object.keys(arrays)) if (!this.inputs.includes(arrays[name])) arrays[name].fill(0);
    arrays.h[0] = this.h;
    for (const [name, values] of Object.entries(data.constants)) arrays[name].set(values);
    for (const slider of this.sliders) slider.array[0] = slider.value;
    for (const [name, values] of Object.entries(data.start)) arrays[name].set(values);
    this.failed = false;
    this.pull = null;
    this.shownForces.clear();
    this.plottedForces.clear();
    this.history = new History(data.plots, (name) => this[name] || arrays[name]);
    this.trail = this.paths.map(() => ({ positions: new Float32Array(3 * MOST_POINTS), count: 0 }));
    this.recorded = this.traced = -Infinity;
    this.record();
  }

  // a configuration from outside, at rest
  setConfiguration(q) {
    this.q.forEach((x, i) => (this.q[i] = finite(q && q[i], x)));
    this.qd.fill(0);
    this.record(true);
  }

  set(slider, value) {
    slider.value = slider.array[0] = value;
    this.record(true);
  }

  // one step; false if the state is not finite any more
  step() {
    if (this.failed) return false;
    if (this.pull) this.applyPull();
    this.kept.set(this.q, (this.arrays.steps[0] % KEPT) * this.q.length);
    this.advanceState();
    if (!this.q.every(Number.isFinite) || !this.qd.every(Number.isFinite)) this.failed = true;
    else {
      if (this.contacts) for (const mean of [this.shownForces, this.plottedForces]) mean.add();
      this.record();
    }
    return !this.failed;
  }

  // the smallest inertia that a coordinate showed lately, by that at the start; none if singular coordinates did not end the motion
  singularity() {
    const nq = this.q.length, count = Math.min(this.arrays.steps[0], KEPT), start = this.inertias(this.data.start.q);
    const stride = Math.ceil((count * this.qd.length ** 2) / MOST_ENERGIES);
    let least = start.every((x) => x > 0) ? Infinity : 0;
    for (let k = 0; k < count; k += stride) {
      this.inertias(this.kept.subarray(k * nq, (k + 1) * nq)).forEach((x, i) => (least = Math.min(least, Math.abs(finite(x / start[i], Infinity)))));
    }
    return least < SINGULAR ? least : null;
  }

  // the inertia that each coordinate shows while the others are free, 1 / (M⁻¹)ᵢᵢ; M is found from kinetic energies
  inertias(q) {
    const n = this.qd.length, rate = new Float64Array(n), out = new Float64Array(this.observed.length);
    const kinetic = (...at) => {
      rate.fill(0);
      for (const i of at) rate[i] = 1;
      this.programs.observe(q, rate, ...this.inputs, out);
      return out[this.observedAt.kinetic];
    };
    const own = Array.from(rate, (_, i) => kinetic(i));
    const M = own.map((x, i) => own.map((y, j) => (i === j ? 2 * x : kinetic(i, j) - x - y)));
    for (let k = 0; k < n; k++) invertAt(M, k);
    return own.map((_, i) => 1 / M[i][i]);
  }

  poses(q, out) { this.programs.poses(q, ...this.inputs, out); }

  observe() {
    this.programs.observe(this.q, this.qd, ...this.inputs, this.observed);
    return this.observed;
  }

  // a vector of the world in the axes of the page
  inPage(v) { return [0, 3, 6].map((r) => this.turn[r] * v[0] + this.turn[r + 1] * v[1] + this.turn[r + 2] * v[2]); }

  // the forces in joints and loops
  react() {
    if (!this.programs.react) return;
    this.programs.react([this.time], this.q, this.qd, this.arrays.u, ...this.inputs, this.reactions);
    for (let k = 0; k < this.reactionSizes.length; k++) this.reactionSizes[k] = norm(this.reactions.subarray(3 * k, 3 * k + 3));
  }

  // points that a ground may touch, and forces, means over the steps since the last call with `mean`
  touch(mean = this.shownForces) {
    if (!this.contacts) return [];
    this.programs.contacts([this.time], this.q, this.qd, mean.take(), ...this.inputs, this.touching);
    const triple = (k) => Array.from(this.touching.subarray(3 * k, 3 * k + 3));
    return Array.from({ length: this.contacts }, (_, k) => ({ point: triple(k), force: triple(this.contacts + k) }));
  }

  energy() {
    const [total, kinetic, potential] = this.observe();
    return { total, kinetic, potential };
  }

  record(now = false) {
    const { time } = this, tiny = 1e-9;
    if (this.tracing && (now || time - this.traced > TRACE - tiny)) {
      this.traced = time;
      this.poses(this.q, this.pose);
      this.paths.forEach(({ body, point }, k) => addPoint(this.trail[k], pointOf(this.pose, body, point)));
    }
    if (now || time - this.recorded > RECORD - tiny) {
      this.recorded = time;
      this.observe();
      this.react();
      if (this.contacts) this.groundForce[0] = norm(this.touch(this.plottedForces).reduce((sum, { force }) => add(sum, force), [0, 0, 0]));
      this.history.add(time);
    }
  }

  // pulling ------------------------------------------------------------------------------------------

  // a spring from a point of a body, in its frame, to a target in the page
  grab(body, point, target) {
    this.pull = { body, point, target, stiffness: 0, damping: 0, force: [0, 0, 0], at: target };
    const { least, mean } = this.inertiaAt(body, point);
    // a point that can hardly move, near an axle, is not pulled by much more than the whole mass would be
    const { pull, h } = this, moved = this.mass > 0 ? clamp(mean, this.mass, PULL.most * this.mass) : Math.min(mean, 1e6);
    pull.stiffness = Math.min(PULL.rate ** 2 * moved, (PULL.stiff / h) ** 2 * least);
    pull.damping = Math.min(2 * PULL.ratio * Math.sqrt(pull.stiffness * moved), (PULL.damp / h) * least);
    this.grabbed = true;
    this.applyPull();
  }

  drop() {
    this.pull = null;
    this.pulling[0] = 0;
    this.clearForce();
  }

  clearForce() {
    const name = `constant ${this.data.pull}`;
    this.arrays[name].set(this.data.constants[name]);
  }

  // the least and a mean inertia [kg] with which a point of a body answers to a force
  inertiaAt(body, point) {
    const { arrays, programs, inputs } = this, n = this.qd.length;
    const accelerate = (force) => {
      this.applyForce(body, force);
      const out = new Float64Array(n), rest = new Float64Array(arrays.u ? arrays.u.length : 0);
      programs.accelerate([this.time], this.q, this.qd, arrays.u, ...inputs, out, rest);
      return out;
    };
    this.pull.at = this.pointNow(body, point).at;
    const free = accelerate([0, 0, 0]), rows = [];
    for (const axis of [[1, 0, 0], [0, 1, 0], [0, 0, 1]]) {
      const change = accelerate(axis).map((x, i) => x - free[i]);
      programs.rates(this.q, change, ...inputs, this.rate);
      rows.push(pointOf(this.rate, body, point));
    }
    this.clearForce();
    const sums = rows.map((row) => Math.abs(row[0]) + Math.abs(row[1]) + Math.abs(row[2]));
    const most = Math.max(...sums, 1e-12), trace = Math.max(rows[0][0] + rows[1][1] + rows[2][2], 1e-12);
    return { least: 1 / most, mean: 3 / trace };
  }

  // position and velocity of a point of a body in the page
  pointNow(body, point) {
    this.poses(this.q, this.pose);
    this.programs.rates(this.q, this.qd, ...this.inputs, this.rate);
    return { at: pointOf(this.pose, body, point), velocity: pointOf(this.rate, body, point) };
  }

  applyPull() {
    const { pull } = this, { at, velocity } = this.pointNow(pull.body, pull.point);
    pull.at = at;
    pull.force = subtract(scaled(subtract(pull.target, at), pull.stiffness), scaled(velocity, pull.damping));
    this.pulling[0] = norm(pull.force);
    this.applyForce(pull.body, pull.force);
  }

  // a force [N] in the axes of the page on the grabbed point, as an input of the step
  applyForce(body, force) {
    const { turn, pull, arrays } = this, back = (v) => [0, 1, 2].map((c) => turn[c] * v[0] + turn[3 + c] * v[1] + turn[6 + c] * v[2]);
    if (this.data.pull === "f_ext") {
      const f = back(force), n = cross(back(pull.at), f);
      arrays["constant f_ext"].fill(0).set([...n, ...f], 6 * (body - 1));
      return;
    }
    // forces of the coordinates that do the work of the force on the point
    const weights = new Float64Array(this.pose.length), point = [...pull.point, 1];
    for (let r = 0; r < 3; r++) for (let c = 0; c < 4; c++) weights[12 * (body - 1) + 4 * r + c] = force[r] * point[c];
    const tau = arrays["constant tau"], own = this.data.constants["constant tau"];
    this.programs.pull(this.q, weights, ...this.inputs, tau);
    own.forEach((x, i) => (tau[i] += x));
  }
}

// The mean of an array over steps: of forces that hold for a step, such as those of impacts, a picture would miss most.
class Mean {
  constructor(array) {
    this.array = array;
    this.sum = new Float64Array(array.length);
    this.clear();
  }

  clear() {
    this.count = 0;
    this.last = Float64Array.from(this.array);
    this.sum.fill(0);
  }

  add() {
    for (let i = 0; i < this.sum.length; i++) this.sum[i] += this.array[i];
    this.count++;
  }

  // the mean since the last call; the same if there was no step
  take() {
    if (!this.count) return this.last;
    const { last } = this;
    for (let i = 0; i < last.length; i++) last[i] = this.sum[i] / this.count;
    this.clear();
    return (this.last = last);
  }
}

// one sweep of the inversion of a positive definite matrix in place, about its entry k, k
function invertAt(M, k) {
  const pivot = M[k][k], row = M[k].map((x, j) => (j === k ? 1 : x) / pivot);
  M.forEach((one, i) => { if (i !== k) M[i] = one.map((x, j) => (j === k ? 0 : x) - one[k] * row[j]); });
  M[k] = row;
}

// the entries of 3×4 matrices applied to a point of a body
function pointOf(matrices, body, [x, y, z]) {
  const o = 12 * (body - 1);
  return [0, 4, 8].map((r) => matrices[o + r] * x + matrices[o + r + 1] * y + matrices[o + r + 2] * z + matrices[o + r + 3]);
}

function addPoint(path, point) {
  if (path.count === MOST_POINTS) {
    path.positions.copyWithin(0, 3 * (MOST_POINTS / 4));
    path.count -= MOST_POINTS / 4;
  }
  path.positions.set(point, 3 * path.count++);
}

// The last seconds of plotted numbers: times and, for each series, values.
class History {
  constructor(plots, find) {
    this.most = 4 * Math.ceil(WINDOW / RECORD);
    this.t = new Float64Array(this.most);
    this.count = 0;
    this.series = plots.flatMap((plot) => plot.series).map(({ array, index }) => ({ source: find(array), index, values: new Float64Array(this.most) }));
  }

  add(time) {
    if (this.count === this.most) {
      const kept = this.most / 2;
      for (const list of [this.t, ...this.series.map((one) => one.values)]) list.copyWithin(0, this.most - kept);
      this.count = kept;
    }
    // a step back, or a change at the same time, replaces what was there
    while (this.count && this.t[this.count - 1] >= time) this.count--;
    this.t[this.count] = time;
    for (const { source, index, values } of this.series) values[this.count] = source[index];
    this.count++;
  }

  // indices of the records of the last seconds
  get window() {
    let first = this.count - 1;
    const since = this.t[this.count - 1] - WINDOW;
    while (first > 0 && this.t[first - 1] >= since) first--;
    return [Math.max(first, 0), this.count];
  }
}
