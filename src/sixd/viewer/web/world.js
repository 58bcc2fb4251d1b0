// The state of the scene at a time: every actor (one for each trajectory, or a single one) with its bodies' poses. Draws nothing.

const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
const linearColor = (c) => [linear(c[0]), linear(c[1]), linear(c[2])];
const GHOST = 0.42; // opacity of a ghost

class World {
  // `simulation`, if there is one, has the state of the only actor
  constructor(scene, kinematics, simulation = null) {
    this.scene = scene;
    this.simulation = simulation;
    this.kinematics = simulation ? (q, out) => simulation.poses(q, out) : kinematics || (() => {});
    this.bodies = scene.bodies.length;
    this.shapes = scene.geometries.map((geometry) => {
      const shape = shapeOf(geometry);
      if (shape) shape.bounds = boundsOf(shape.positions);
      return shape;
    });
    this.poses = scene.visuals.map((visual) => fromRows(visual.pose));
    this.quaternions = quaternionStarts(scene.joints);
    this.version = 0; // grows when anything moves
    this.makeActors();
    this.setConfiguration(scene.q);
    this.measure();
  }

  makeActors() {
    const recorded = this.scene.trajectories.map((source) => [source, new Motion(source, this.scene.nq, this.quaternions)]);
    const list = recorded.length ? recorded : [[{ pairs: this.scene.pairs }, null]];
    this.actors = list.map(([source, motion], index) => this.makeActor(source, motion, index));
    this.motions = recorded.map(([, motion]) => motion);
    const usable = this.motions.filter((motion) => motion.valid);
    this.start = usable.length ? Math.min(...usable.map((motion) => motion.start)) : 0;
    this.end = usable.length ? Math.max(...usable.map((motion) => motion.end)) : 0;
  }

  makeActor(source, motion, index) {
    const offset = finiteList(source.offset, 3), ghost = Boolean(source.ghost);
    const apart = index === 0 || norm(offset) > 0;
    const matrices = Array.from({ length: this.bodies }, () => translation(offset));
    const items = this.scene.visuals.map((visual, k) => ({
      body: visual.body, name: visual.name, geometry: visual.geometry, pose: this.poses[k], matrix: identity(), thin: thinOf(this.scene.geometries[visual.geometry]),
      color: this.colorOf(visual.color, source.color, ghost),
      // shapes fixed to the world are drawn once, or once at each actor's position
      shown: (visual.body > 0 || apart) && this.shapes[visual.geometry] !== null,
    }));
    const q = Float64Array.from(this.scene.q), out = new Float64Array(12 * Math.max(this.bodies - 1, 0));
    const pairs = source.pairs ? new NearPairs(source.pairs) : null;
    return { pairs, near: [], index, name: source.name || "", color: source.color, offset, ghost, motion, matrices, items, q, out, visible: true };
  }

  colorOf(own, tint, ghost) {
    const base = finiteList(own, 4, 0.7);
    const color = tint ? mixed(base.slice(0, 3), finiteList(tint, 3), ghost ? 0.85 : 0.6) : base.slice(0, 3);
    const alpha = own && own.length > 3 ? clamp(base[3], 0, 1) : 1;
    return [...linearColor(color), ghost ? GHOST * alpha : alpha];
  }

  setTime(time) {
    for (const actor of this.actors) {
      if (actor.motion) actor.motion.sample(time, actor.q);
      else if (this.simulation) actor.q.set(this.simulation.q);
      this.place(actor);
      if (actor.motion && actor.pairs) showNear(actor, actor.pairs.at(...actor.motion.find(time)));
    }
    this.time = time;
    this.version++;
  }

  // sets the same configuration for all actors; missing or non-finite entries stay unchanged
  setConfiguration(q) {
    if (this.simulation && this.size) this.simulation.setConfiguration(q);
    for (const actor of this.actors) {
      for (let i = 0; i < actor.q.length; i++) actor.q[i] = finite(q && q[i], actor.q[i]);
      for (const start of this.quaternions) if (start + 4 <= actor.q.length) normalise(actor.q, start);
      this.place(actor);
      // nearest points are known for the scene's own configuration alone
      const known = !actor.motion && actor.pairs && actor.q.every((x, i) => Math.abs(x - this.scene.q[i]) < 1e-6);
      showNear(actor, known ? actor.pairs.at(0, 0) : []);
    }
    this.version++;
  }

  // the nearest points at a configuration from the server
  renewPairs({ q, pairs }) {
    this.scene.q = q;
    for (const actor of this.actors) if (!actor.motion) actor.pairs = new NearPairs(pairs);
  }

  // the poses of the bodies at the actor's q: rows of 3x4 from the generated function
  place(actor) {
    const { out, matrices, offset } = actor;
    this.kinematics(actor.q, out);
    for (let b = 1; b < this.bodies; b++) {
      const m = matrices[b], o = 12 * (b - 1);
      for (let r = 0; r < 3; r++) {
        m[r] = out[o + 4 * r];
        m[4 + r] = out[o + 4 * r + 1];
        m[8 + r] = out[o + 4 * r + 2];
        m[12 + r] = out[o + 4 * r + 3] + offset[r];
      }
    }
    for (const item of actor.items) multiply(matrices[item.body], item.pose, item.matrix);
  }

  // shapes whose size depends on sliders: between the ends of a slider's range and its start they change linearly
  deform() {
    if (!this.simulation) return;
    const { sliders, data } = this.simulation, changed = new Map();
    for (const { visual, slider, low, high } of data.deformed) {
      const { value, start, low: least, high: most } = sliders[slider];
      const [end, s] = value < start ? [low, (start - value) / (start - least)] : [high, value > start ? (value - start) / (most - start) : 0];
      if (!changed.has(visual)) changed.set(visual, this.scene.visuals[visual].pose.slice(0, 12));
      changed.get(visual).forEach((x, i, rows) => (rows[i] = x + s * end[i]));
    }
    for (const [visual, rows] of changed) {
      const pose = fromRows(rows);
      for (const actor of this.actors) actor.items[visual].pose = pose;
    }
    this.setTime(this.time);
    if (!Number.isFinite(this.scene.settings.ground) && !this.plane) this.ground = Math.min(this.ground, this.floorBelow());
  }

  boundsOf(actors = this.actors, into = new Bounds()) {
    for (const actor of actors) {
      if (!actor.visible) continue;
      for (const item of actor.items) if (item.shown) into.addBox(item.matrix, this.shapes[item.geometry].bounds);
      if (actor.items.some((item) => item.shown)) continue;
      for (const m of actor.matrices) into.add(originOf(m));
    }
    return into;
  }

  // measures the size of one actor, the box around the whole motion, and the height of the floor
  measure() {
    if (this.motions.length) this.setTime(this.start);
    const first = this.boundsOf([this.actors[0]]);
    this.size = first.empty || first.radius < 1e-9 ? 1 : first.radius;
    const now = this.boundsOf(), whole = this.boundsOf();
    for (let i = 1; i <= 40 && this.end > this.start; i++) {
      this.setTime(this.start + ((this.end - this.start) * i) / 40);
      this.boundsOf(this.actors, whole);
    }
    if (this.motions.length) this.setTime(this.start);
    // of a live page the scene knows the box around the first seconds
    if (this.simulation && this.scene.room) [0, 3].forEach((k) => whole.add(finiteList(this.scene.room.slice(k, k + 3), 3)));
    // a bob without anything that holds it swings about the origin
    if (this.simulation && !this.scene.visuals.some((visual) => visual.body === 0)) for (const box of [now, whole]) box.add([0, 0, 0]);
    // the first view does not include a motion that flies far away
    this.leaves = this.simulation ? Boolean(this.scene.leaves) : whole.radius > 6 * now.radius;
    this.swings = whole.radius > 1.15 * now.radius;
    this.room = whole.empty ? Object.assign(new Bounds(), { low: [-1, -1, -1], high: [1, 1, 1] }) : this.leaves && !this.simulation ? now : whole;
    this.plane = this.findPlane();
    // the floor of the scene's settings, its plane, or height 0 unless something is lower
    const ground = this.scene.settings.ground;
    this.ground = Number.isFinite(ground) ? ground : this.plane ? this.plane.height : this.floorBelow();
    // the world's axes in the page: rotated if the mechanism's gravity does not point along -z
    const frame = this.scene.frames.find((one) => one.body === 0 && one.name === "world");
    this.axes = frame ? fromRows(frame.pose) : identity();
    const upright = Math.abs(this.axes[0] - 1) + Math.abs(this.axes[5] - 1) + Math.abs(this.axes[10] - 1) < 1e-9;
    this.originOnFloor = upright && Math.abs(this.ground) < 1e-9 * this.size && norm(this.actors[0].offset) === 0;
  }

  // 0, or below the lowest visible point at the times at which the box was measured
  floorBelow() {
    let low = Infinity;
    const look = () => {
      for (const { visible, items } of this.actors) {
        for (const { shown, matrix, geometry } of visible ? items : []) if (shown) low = lowestOf(this.shapes[geometry], matrix, low);
      }
    };
    const times = this.end > this.start && !this.leaves ? 40 : 0;
    look();
    for (let i = 1; i <= times; i++) {
      this.setTime(this.start + ((this.end - this.start) * i) / times);
      look();
    }
    if (times) this.setTime(this.start);
    return Number.isFinite(low) && low < -0.02 * this.size ? low - 0.02 * this.size : 0;
  }

  // a level plane fixed to the world is the floor
  findPlane() {
    for (let k = 0; k < this.scene.visuals.length; k++) {
      const visual = this.scene.visuals[k], m = this.poses[k];
      if (visual.body === 0 && this.scene.geometries[visual.geometry].kind === "plane" && m[10] > 0.9999) {
        return { visual: k, height: m[14], color: visual.color };
      }
    }
    return null;
  }

  // the nearest triangle that a ray meets: {point, body, actor} or null; with `through`, behind transparent shapes of the world
  pick({ origin, direction }, through = false) {
    let best = null;
    for (const actor of this.actors.filter((a) => a.visible)) {
      for (const item of actor.items) {
        const shape = this.shapes[item.geometry];
        if (!item.shown || shape.line || (through && item.body === 0 && item.color[3] < 1)) continue;
        const inverse = invertAffine(item.matrix);
        const s = meet(shape, transformPoint(inverse, origin), transformVector(inverse, direction));
        if (s < (best ? best.s : Infinity)) best = { s, body: item.body, actor };
      }
    }
    if (best) best.point = add(origin, scaled(direction, best.s));
    return best;
  }

  pointOf(actor, body, local) {
    return transformPoint(actor.matrices[body], local);
  }
}

// the smallest of `low` and the heights of a shape's points; most shapes are skipped by their bounding box
function lowestOf(shape, m, low) {
  if (!(Math.min(...shape.bounds.corners().map((corner) => transformPoint(m, corner)[2])) < low)) return low;
  const p = shape.positions;
  for (let i = 0; i < p.length; i += 3) low = Math.min(low, m[2] * p[i] + m[6] * p[i + 1] + m[10] * p[i + 2] + m[14]);
  return low;
}

// the radius of a shape that is round about its z axis, such as a rod; 0 for others
function thinOf({ kind, size }) {
  return ["capsule", "cylinder", "sphere"].includes(kind) ? Math.max(finite(size && size[0]), 0) : 0;
}

// the distance along a ray to the first triangle; Infinity if there is none [Möller and Trumbore 1997]
function meet(shape, origin, direction) {
  const { low, high } = shape.bounds;
  let enter = 0, leave = Infinity;
  for (let i = 0; i < 3; i++) {
    const a = (low[i] - origin[i]) / direction[i], b = (high[i] - origin[i]) / direction[i];
    if (Number.isNaN(a) || Number.isNaN(b)) continue;
    enter = Math.max(enter, Math.min(a, b));
    leave = Math.min(leave, Math.max(a, b));
  }
  let best = Infinity;
  if (enter > leave * 1.000001 + 1e-9) return best;
  const p = shape.positions, at = (i) => [p[3 * i], p[3 * i + 1], p[3 * i + 2]];
  for (let f = 0; f < shape.indices.length; f += 3) {
    const a = at(shape.indices[f]), u = subtract(at(shape.indices[f + 1]), a), v = subtract(at(shape.indices[f + 2]), a);
    const h = cross(direction, v), det = dot(u, h);
    if (Math.abs(det) < 1e-30) continue;
    const w = subtract(origin, a), x = dot(w, h) / det;
    if (x < 0 || x > 1) continue;
    const n = cross(w, u), y = dot(direction, n) / det;
    const s = dot(v, n) / det;
    if (y >= 0 && x + y <= 1 && s > 0 && s < best) best = s;
  }
  return best;
}
