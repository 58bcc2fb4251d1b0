// Trails: the paths of the bodies' origins or centres of mass up to the present time.

const TRAIL_SAMPLES = 1200; // enough for a minute of motion without visible corners
const TRAIL_COLORS = [
  [0.20, 0.47, 0.86], [0.90, 0.45, 0.15], [0.16, 0.62, 0.42], [0.78, 0.25, 0.45],
  [0.48, 0.38, 0.82], [0.10, 0.62, 0.70], [0.72, 0.56, 0.10], [0.55, 0.42, 0.36],
];

class Trails {
  constructor(gl, world) {
    this.gl = gl;
    this.world = world;
    this.paths = new Map(); // "actor kind" -> {line, times, count, moves}
    this.tip = new Polyline(gl, new Float32Array(6), true);
  }

  localPoint(body, kind) {
    return kind === "com" ? finiteList(this.world.scene.bodies[body].com, 3) : [0, 0, 0];
  }

  // all bodies of one actor, one after the other, sampled evenly over its motion
  path(actor, kind) {
    const key = `${actor.index} ${kind}`;
    if (this.paths.has(key)) return this.paths.get(key);
    const { motion } = actor, bodies = this.world.bodies - 1;
    // sampled between the records too, where joints move on arcs
    const count = motion.valid > 1 ? Math.min(8 * motion.valid, TRAIL_SAMPLES) : 1;
    const positions = new Float32Array(3 * count * bodies), times = new Float64Array(count);
    const q = Float64Array.from(actor.q), out = new Float64Array(12 * bodies);
    const locals = Array.from({ length: bodies }, (_, b) => this.localPoint(b + 1, kind));
    for (let s = 0; s < count; s++) {
      times[s] = motion.start + ((motion.end - motion.start) * s) / (count - 1 || 1);
      motion.sample(times[s], q);
      this.world.kinematics(q, out);
      for (let b = 0; b < bodies; b++) {
        const o = 12 * b, [x, y, z] = locals[b];
        for (let r = 0; r < 3; r++) {
          const place = out[o + 4 * r] * x + out[o + 4 * r + 1] * y + out[o + 4 * r + 2] * z + out[o + 4 * r + 3];
          positions[3 * (b * count + s) + r] = place + actor.offset[r];
        }
      }
    }
    const moves = locals.map((_, b) => boundsOf(positions.subarray(3 * b * count, 3 * (b + 1) * count)).radius > 1e-3 * this.world.size);
    const path = { line: new Polyline(this.gl, positions), times, count, moves };
    this.paths.set(key, path);
    return path;
  }

  // of a live page: the paths that the simulation has recorded
  drawLive(program, options) {
    const { paths, trail } = this.world.simulation;
    program.set("model", identity());
    paths.forEach(({ body, point, name }, k) => {
      const { positions, count } = trail[k], only = options.trailBody;
      if (count < 2 || (only && only !== this.world.scene.bodies[body].name && only !== name)) return;
      this.tip.update(positions.subarray(0, 3 * count));
      program.set("color", [...TRAIL_COLORS[k % TRAIL_COLORS.length], 0.95]);
      program.set("tail", 1600);
      program.set("count", count);
      this.tip.draw(0, count - 1);
      this.tip.update(new Float32Array([...positions.subarray(3 * count - 3, 3 * count), ...this.world.pointOf(this.world.actors[0], body, point)]));
      program.set("count", 0);
      this.tip.draw(0, 1);
    });
  }

  draw(program, options) {
    if (this.world.simulation) return this.drawLive(program, options);
    const only = options.trailBody;
    for (const actor of this.world.actors) {
      if (!actor.visible || !actor.motion || !actor.motion.valid || this.world.bodies < 2) continue;
      const path = this.path(actor, options.trails);
      // samples up to now
      let past = 0, high = path.count;
      while (high - past > 1) {
        const middle = (past + high) >> 1;
        if (path.times[middle] <= this.world.time + 1e-12) past = middle;
        else high = middle;
      }
      program.set("model", identity());
      for (let b = 1; b < this.world.bodies; b++) {
        if (!path.moves[b - 1] || (only && only !== this.world.scene.bodies[b].name)) continue;
        const palette = TRAIL_COLORS[(this.world.actors.length > 1 ? actor.index : b - 1) % TRAIL_COLORS.length];
        program.set("color", [...(actor.color ? finiteList(actor.color, 3) : palette), actor.ghost ? 0.5 : 0.95]);
        program.set("tail", Math.max(path.count * 0.35, 4));
        program.set("count", past);
        path.line.draw((b - 1) * path.count, past);
        this.drawTip(program, path, b, past, this.world.pointOf(actor, b, this.localPoint(b, options.trails)));
      }
    }
  }

  // from the last sample to the body's current position
  drawTip(program, path, body, past, now) {
    const k = 3 * ((body - 1) * path.count + past);
    this.tip.update(new Float32Array([...path.line.positions.subarray(k, k + 3), ...now]));
    program.set("count", 0);
    this.tip.draw(0, 1);
  }
}
