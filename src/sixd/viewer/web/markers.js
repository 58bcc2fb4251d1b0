// Markers that explain a mechanism: frames, joint axes, centres of mass, inertia ellipsoids, contact forces, as lists of unit shapes.

const MARKER_COLORS = {
  turn: [0.95, 0.55, 0.1], slide: [0.05, 0.6, 0.65], mass: [0.95, 0.95, 0.95], total: [1, 0.78, 0.1],
  inertia: [0.46, 0.36, 0.86], force: [0.86, 0.2, 0.36], pull: [0.1, 0.62, 0.36],
  momentum: [0.16, 0.42, 0.85], near: [0.1, 0.45, 0.85], deep: [0.35, 0, 0.05], touch: [0.93, 0.15, 0.12],
};

// three arrows in red, green and blue, of length 1, as one mesh
function triadShape() {
  const shape = { positions: [], normals: [], indices: [], colors: [] };
  const paints = [[222, 68, 62], [62, 168, 84], [58, 112, 226]];
  const put = (part, width, length, shift, axis, paint) => {
    const first = shape.positions.length / 3;
    const turn = (p) => [0, 1, 2].map((c) => p[(c - axis + 5) % 3]); // z of the part -> x, y or z
    for (let i = 0; i < part.positions.length; i += 3) {
      const p = [part.positions[i] * width, part.positions[i + 1] * width, part.positions[i + 2] * length + shift];
      shape.positions.push(...turn(p));
      shape.normals.push(...turn(part.normals.slice(i, i + 3)));
      shape.colors.push(...paint);
    }
    for (const i of part.indices) shape.indices.push(first + i);
  };
  const rod = rodShape(), tip = tipShape(20);
  for (let axis = 0; axis < 3; axis++) {
    put(rod, 0.028, 0.8, 0, axis, paints[axis]);
    put(tip, 0.075, 0.22, 0.78, axis, paints[axis]);
  }
  put(ellipsoidShape([1, 1, 1]), 0.06, 0.06, 0, 2, [240, 240, 240]);
  return shape;
}

const MARKER_SHAPES = {
  rod: rodShape, cone: tipShape, ball: () => ellipsoidShape([1, 1, 1]), cube: () => boxShape([2, 2, 2]), triad: triadShape,
};

class Markers {
  constructor(world) {
    this.world = world;
    this.size = finite(world.scene.settings.marker, 0.16 * world.size);
    const masses = world.scene.bodies.map((body) => Math.max(finite(body.mass), 0));
    this.masses = masses;
    this.heaviest = Math.max(...masses, 1e-12);
    this.scratch = new Float64Array(12 * Math.max(world.bodies - 1, 0));
  }

  // all markers that are switched on, at the current time
  list(options) {
    this.items = [];
    if (options.grid && !options.frames && !this.world.originOnFloor) this.origins();
    for (const actor of this.world.actors.filter((a) => a.visible)) {
      if (options.frames) this.frames(actor);
      if (options.axes) this.axes(actor);
      if (options.com) this.centres(actor);
      if (options.inertia) this.ellipsoids(actor);
      if (options.contacts) this.forces(actor);
      if (options.contacts) this.contactLines(actor);
      if (options.distances) this.nearest(actor);
      if (this.world.simulation) this.live(this.world.simulation, options);
    }
    return this.items;
  }

  push(mesh, matrix, color, extra = {}) {
    this.items.push({ mesh, matrix, color: [...linearColor(color), 1], ...extra });
  }

  // if the floor is not the world's xy-plane, small axes show its origin, once at each position of an actor
  origins() {
    const s = 0.55 * this.size, places = this.world.actors.filter((actor) => actor.visible && (actor.index === 0 || norm(actor.offset) > 0));
    for (const { offset } of places.length > 6 ? [] : places) {
      this.push("triad", multiply(multiply(translation(offset), this.world.axes), fromColumns([s, 0, 0], [0, s, 0], [0, 0, s], [0, 0, 0])), [1, 1, 1], { glow: 0.45 });
    }
  }

  frames(actor) {
    const stretch = fromColumns([this.size, 0, 0], [0, this.size, 0], [0, 0, this.size], [0, 0, 0]);
    const seen = new Set();
    const put = (body, pose) => {
      const matrix = multiply(multiply(actor.matrices[body], pose), stretch);
      const key = Array.from(matrix, (x) => Math.round((x / this.size) * 1e3)).join();
      if (!seen.has(key)) this.push("triad", matrix, [1, 1, 1], { glow: 0.45 });
      seen.add(key);
    };
    for (let b = 0; b < this.world.bodies; b++) put(b, identity());
    for (const frame of this.world.scene.frames) put(frame.body, fromRows(frame.pose));
  }

  // each joint coordinate moves its body about or along a screw axis, found by differences of the poses
  axes(actor) {
    for (const joint of this.world.scene.joints) {
      const body = joint.body;
      if (!(body >= 1 && body < this.world.bodies)) continue;
      if (String(joint.kind).toLowerCase() === "free") continue;
      if (String(joint.kind).toLowerCase() === "spherical") {
        const s = 0.2 * this.size, m = actor.matrices[body];
        this.push("ball", fromColumns([s, 0, 0], [0, s, 0], [0, 0, s], originOf(m)), MARKER_COLORS.turn);
        continue;
      }
      for (let i = joint.q[0]; i < joint.q[1]; i++) this.axis(actor, body, i);
    }
  }

  axis(actor, body, coordinate) {
    const h = 1e-4, q = Float64Array.from(actor.q), o = 12 * (body - 1), scratch = this.scratch;
    const poseAt = (value) => {
      q[coordinate] = value;
      this.world.kinematics(q, scratch);
      return scratch.slice(o, o + 12);
    };
    const p = poseAt(actor.q[coordinate] + h), m = poseAt(actor.q[coordinate] - h), at = poseAt(actor.q[coordinate]);
    const rate = p.map((x, i) => (x - m[i]) / (2 * h));
    // ω× = Ṙ Rᵀ
    const W = (r, c) => rate[4 * r] * at[4 * c] + rate[4 * r + 1] * at[4 * c + 1] + rate[4 * r + 2] * at[4 * c + 2];
    const omega = [(W(2, 1) - W(1, 2)) / 2, (W(0, 2) - W(2, 0)) / 2, (W(1, 0) - W(0, 1)) / 2];
    const velocity = [rate[3], rate[7], rate[11]], origin = [at[3], at[7], at[11]];
    const turns = norm(omega) > 1e-6, direction = turns ? omega : velocity;
    if (!(norm(direction) > 1e-9)) return;
    // the point of the axis nearest to the body's origin: ω × v / ω²
    const arm = turns ? scaled(cross(omega, velocity), 1 / dot(omega, omega)) : [0, 0, 0];
    const foot = add(add(origin, arm), actor.offset);
    const z = unit(direction), length = 2.2 * this.size, color = turns ? MARKER_COLORS.turn : MARKER_COLORS.slide;
    const thin = 0.035 * this.size;
    this.push("rod", alongZ(add(foot, scaled(z, -0.5 * length)), z, thin, length), color, { glow: 0.3 });
    this.push("cone", alongZ(add(foot, scaled(z, 0.5 * length)), z, 2.6 * thin, 0.16 * length), color, { glow: 0.3 });
    if (!turns) this.push("cone", alongZ(add(foot, scaled(z, -0.5 * length)), scaled(z, -1), 2.6 * thin, 0.22 * length), color, { glow: 0.3 });
  }

  centres(actor) {
    let total = 0, sum = [0, 0, 0];
    const put = (point, radius, color) =>
      this.push("ball", fromColumns([radius, 0, 0], [0, radius, 0], [0, 0, radius], point), color, { quarters: 1, glow: 0.2 });
    for (let b = 1; b < this.world.bodies; b++) {
      const mass = this.masses[b];
      if (!(mass > 0)) continue;
      const point = this.world.pointOf(actor, b, finiteList(this.world.scene.bodies[b].com, 3));
      total += mass;
      sum = add(sum, scaled(point, mass));
      put(point, this.size * (0.1 + 0.16 * Math.cbrt(mass / this.heaviest)), MARKER_COLORS.mass);
    }
    if (total > 0 && this.world.bodies > 2) put(scaled(sum, 1 / total), 0.34 * this.size, MARKER_COLORS.total);
  }

  ellipsoids(actor) {
    for (let b = 1; b < this.world.bodies; b++) {
      const body = this.world.scene.bodies[b], ellipsoid = body.ellipsoid;
      if (!ellipsoid) continue;
      const a = finiteList(ellipsoid.axes, 9), radii = finiteList(ellipsoid.radii, 3).map((r) => Math.max(r, 0.02 * this.size));
      const column = (c) => scaled([a[c], a[3 + c], a[6 + c]], radii[c]);
      const local = fromColumns(column(0), column(1), column(2), finiteList(body.com, 3));
      this.push("ball", multiply(actor.matrices[b], local), MARKER_COLORS.inertia, { alpha: 0.3 });
    }
  }

  // an arrow of a vector in the page
  arrow(foot, vector, color, wide = 0.06) {
    const length = norm(vector), thin = wide * this.size, tip = Math.min(0.6 * this.size, 0.45 * length);
    if (!(length > 0.03 * this.size) || !Number.isFinite(length)) return;
    this.push("rod", alongZ(foot, vector, thin, length - tip), color, { glow: 0.35 });
    this.push("cone", alongZ(add(foot, scaled(unit(vector), length - tip)), vector, 2.4 * thin, tip), color, { glow: 0.35 });
  }

  // what a simulation shows besides its bodies: the pull, forces in joints, momentum at the centre of mass
  live(simulation, options) {
    const actor = this.world.actors[0], shown = (vector, scale) => scaled(unit(vector), this.world.size * Math.min(norm(vector) / scale, 1.6));
    this.pull(simulation.pull);
    if (options.contacts) {
      for (const { point, force } of simulation.touch()) {
        const length = 0.8 * this.world.size * Math.min(norm(force) / simulation.weight, 1.8);
        if (length > 0.01 * this.world.size) this.arrow(point, scaled(unit(force), length), MARKER_COLORS.force);
      }
    }
    if (options.reactions) {
      simulation.react();
      simulation.data.reactions.forEach(({ body, point }, k) => {
        const force = Array.from(simulation.reactions.subarray(3 * k, 3 * k + 3));
        if (body > 0 && norm(force) > 0) this.arrow(this.world.pointOf(actor, body, point), shown(force, 2.5 * simulation.weight), MARKER_COLORS.force);
      });
    }
    if (options.momentum && "momentum" in simulation.observedAt) {
      const values = simulation.observe(), part = (name) => simulation.inPage(values.subarray(simulation.observedAt[name], simulation.observedAt[name] + 3));
      const momentum = part("momentum");
      if (norm(momentum) > 0) this.arrow(part("centre of mass"), shown(momentum, 0.3 * simulation.weight), MARKER_COLORS.momentum);
    }
  }

  // the spring by which the reader pulls: an arrow from the grabbed point to the pointer
  pull(pull) {
    if (!pull) return;
    const way = subtract(pull.target, pull.at), s = 0.1 * this.size;
    this.push("ball", fromColumns([s, 0, 0], [0, s, 0], [0, 0, s], pull.at), MARKER_COLORS.pull, { glow: 0.4 });
    this.arrow(pull.at, way, MARKER_COLORS.pull, 0.05);
  }

  // where pinions touch their racks: the line goes along with the body, but turns with the rack
  contactLines(actor) {
    for (const { body, parent, axes, offset, half } of this.world.scene.contact_lines) {
      const turn = (v) => transformVector(actor.matrices[parent], [0, 3, 6].map((r) => axes[r] * v[0] + axes[r + 1] * v[1] + axes[r + 2] * v[2]));
      const along = turn([1, 0, 0]), middle = add(originOf(actor.matrices[body]), turn(offset));
      this.push("rod", alongZ(add(middle, scaled(along, -half)), along, 0.06 * this.size, 2 * half), MARKER_COLORS.force, { glow: 0.5 });
    }
  }

  // thin lines between nearest points, with a ball at each end
  nearest(actor) {
    const thin = 0.004 * this.world.size, r = 3 * thin;
    for (const { from, to, distance } of actor.near) {
      const color = MARKER_COLORS[distance < 0 ? "deep" : "near"], ends = [add(from, actor.offset), add(to, actor.offset)];
      const way = subtract(ends[1], ends[0]), length = norm(way);
      for (const end of ends) this.push("ball", fromColumns([r, 0, 0], [0, r, 0], [0, 0, r], end), color, { glow: 0.35 });
      if (length > thin) this.push("rod", alongZ(ends[0], way, thin, length), color, { glow: 0.35 });
    }
  }

  forces(actor) {
    const motion = actor.motion;
    if (!motion || !motion.contacts) return;
    for (let k = 0; k < motion.contacts.count; k++) {
      const contact = motion.contact(k, this.world.time);
      if (!contact) continue;
      const size = norm(contact.force), length = this.world.size * 0.55 * Math.min(size / motion.contacts.usual, 1.8);
      if (length < 0.01 * this.world.size) continue;
      this.arrow(add(contact.point, actor.offset), scaled(unit(contact.force), length), MARKER_COLORS.force);
    }
  }
}
