// A recorded motion q(t): its valid records, and the configuration at any time between them.

// indices in q where quaternions start: they are interpolated along arcs, all other entries along straight lines
function quaternionStarts(joints) {
  return joints
    .filter((joint) => ["free", "spherical"].includes(String(joint.kind).toLowerCase()))
    .map((joint) => joint.q[0])
    .filter((start, i) => Number.isInteger(start) && joints.length > i);
}

class Motion {
  constructor(source, nq, quaternions) {
    this.name = source.name || "";
    this.t = decodeArray(source.t, "float64");
    this.q = decodeArray(source.q, "float32");
    this.plotT = source.plot_t ? decodeArray(source.plot_t, "float64") : this.t; // times of the plotted points
    this.nq = nq;
    this.quaternions = quaternions.filter((start) => start + 4 <= nq);
    this.records = nq > 0 ? Math.min(this.t.length, Math.floor(this.q.length / nq)) : this.t.length;
    this.valid = this.countValid();
    this.start = this.valid ? this.t[0] : 0;
    this.end = this.valid ? this.t[this.valid - 1] : 0;
    this.last = 0; // the record found last: the next search starts there
    this.readContacts(source.contacts);
  }

  // records before the first that is not finite or goes back in time
  countValid() {
    for (let r = 0; r < this.records; r++) {
      if (!Number.isFinite(this.t[r]) || (r > 0 && this.t[r] < this.t[r - 1])) return r;
      for (let i = r * this.nq; i < (r + 1) * this.nq; i++) if (!Number.isFinite(this.q[i])) return r;
    }
    return this.records;
  }

  get failed() { return this.valid < this.records; }

  // the record at or before a time, and the fraction of the way to the next, 0..1
  find(time) {
    if (this.valid < 2 || time <= this.start) return [0, 0];
    if (time >= this.end) return [this.valid - 1, 0];
    let low = this.last, high = this.last + 1;
    if (!(low + 1 < this.valid && this.t[low] <= time && time < this.t[high])) {
      low = 0;
      high = this.valid - 1;
      while (high - low > 1) {
        const middle = (low + high) >> 1;
        if (this.t[middle] <= time) low = middle;
        else high = middle;
      }
    }
    this.last = low;
    const step = this.t[high] - this.t[low];
    return [low, step > 0 ? (time - this.t[low]) / step : 0];
  }

  // the configuration at a time, into `out`
  sample(time, out) {
    if (!this.valid) return;
    const [record, s] = this.find(time), nq = this.nq;
    const a = record * nq, b = s > 0 ? a + nq : a;
    for (let i = 0; i < nq; i++) out[i] = this.q[a + i] + (this.q[b + i] - this.q[a + i]) * s;
    for (const start of this.quaternions) slerp(this.q, a + start, this.q, b + start, s, out, start);
  }

  readContacts(source) {
    this.contacts = null;
    if (!source || !(source.count > 0)) return;
    const points = decodeArray(source.points), forces = decodeArray(source.forces);
    const sizes = [];
    for (let i = 0; i + 2 < forces.length; i += 3) {
      const size = Math.hypot(forces[i], forces[i + 1], forces[i + 2]);
      if (size > 0 && Number.isFinite(size)) sizes.push(size);
    }
    sizes.sort((a, b) => a - b);
    // impacts are few and large: the 97 % quantile of the forces sets the scale
    const usual = sizes.length ? sizes[Math.floor(0.97 * (sizes.length - 1))] : 1;
    this.contacts = { count: source.count, points, forces, usual };
  }

  // contact k at a time: {point, force} or null
  contact(k, time) {
    const [record, s] = this.find(time), { count, points, forces } = this.contacts;
    const a = 3 * (record * count + k), b = s > 0 ? a + 3 * count : a;
    if (b + 2 >= points.length || b + 2 >= forces.length) return null;
    const between = (list) => [0, 1, 2].map((c) => list[a + c] + (list[b + c] - list[a + c]) * s);
    const point = between(points), force = between(forces);
    return Number.isFinite(norm(point) + norm(force)) && norm(force) > 0 ? { point, force } : null;
  }
}
