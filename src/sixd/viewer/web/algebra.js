// Vectors are lists of three, matrices 4x4 by columns (as in WebGL), quaternions w x y z.

const add = (a, b) => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
const subtract = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const scaled = (a, s) => [a[0] * s, a[1] * s, a[2] * s];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const norm = (a) => Math.hypot(a[0], a[1], a[2]);
const unit = (a, fallback = [0, 0, 1]) => (norm(a) > 1e-300 ? scaled(a, 1 / norm(a)) : fallback);
const mixed = (a, b, s) => a.map((x, i) => x + (b[i] - x) * s);

const identity = () => new Float32Array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);

// out = a b; out may not be a or b
function multiply(a, b, out = new Float32Array(16)) {
  for (let c = 0; c < 16; c += 4) {
    const x = b[c], y = b[c + 1], z = b[c + 2], w = b[c + 3];
    out[c] = a[0] * x + a[4] * y + a[8] * z + a[12] * w;
    out[c + 1] = a[1] * x + a[5] * y + a[9] * z + a[13] * w;
    out[c + 2] = a[2] * x + a[6] * y + a[10] * z + a[14] * w;
    out[c + 3] = a[3] * x + a[7] * y + a[11] * z + a[15] * w;
  }
  return out;
}

// a 4x4 list by rows, the form of poses in the scene
function fromRows(rows) {
  const out = identity();
  if (!rows || rows.length < 12) return out;
  for (let r = 0; r < 3; r++) for (let c = 0; c < 4; c++) out[4 * c + r] = finite(rows[4 * r + c], r === c ? 1 : 0);
  return out;
}

// columns x, y, z and the origin
function fromColumns(x, y, z, origin, out = new Float32Array(16)) {
  out.set(x, 0); out.set(y, 4); out.set(z, 8); out.set(origin, 12);
  out[3] = out[7] = out[11] = 0;
  out[15] = 1;
  return out;
}

const translation = (p) => fromColumns([1, 0, 0], [0, 1, 0], [0, 0, 1], p);

// the frame whose z is `direction`, stretched by `width`, `width` and `length`
function alongZ(origin, direction, width, length, out) {
  const z = unit(direction);
  const x = unit(cross(Math.abs(z[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0], z));
  return fromColumns(scaled(x, width), scaled(cross(z, x), width), scaled(z, length), origin, out);
}

function transformPoint(m, p) {
  return [
    m[0] * p[0] + m[4] * p[1] + m[8] * p[2] + m[12],
    m[1] * p[0] + m[5] * p[1] + m[9] * p[2] + m[13],
    m[2] * p[0] + m[6] * p[1] + m[10] * p[2] + m[14],
  ];
}

function transformVector(m, p) {
  return [
    m[0] * p[0] + m[4] * p[1] + m[8] * p[2],
    m[1] * p[0] + m[5] * p[1] + m[9] * p[2],
    m[2] * p[0] + m[6] * p[1] + m[10] * p[2],
  ];
}

const originOf = (m) => [m[12], m[13], m[14]];

// the inverse of an affine matrix
function invertAffine(m) {
  const x = [m[0], m[1], m[2]], y = [m[4], m[5], m[6]], z = [m[8], m[9], m[10]];
  const det = dot(x, cross(y, z)) || 1e-300;
  const rows = [cross(y, z), cross(z, x), cross(x, y)].map((row) => scaled(row, 1 / det));
  const p = rows.map((row) => -dot(row, originOf(m)));
  const [a, b, c] = rows;
  return new Float32Array([a[0], b[0], c[0], 0, a[1], b[1], c[1], 0, a[2], b[2], c[2], 0, p[0], p[1], p[2], 1]);
}

function perspective(height, aspect, near, far) {
  const f = 1 / height;
  return new Float32Array([
    f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) / (near - far), -1, 0, 0, (2 * far * near) / (near - far), 0,
  ]);
}

// clip coordinates of the box low..high of a frame that looks along its -z
function orthographic(low, high) {
  const s = subtract(high, low), m = add(high, low);
  return new Float32Array([
    2 / s[0], 0, 0, 0, 0, 2 / s[1], 0, 0, 0, 0, -2 / s[2], 0, -m[0] / s[0], -m[1] / s[1], m[2] / s[2], 1,
  ]);
}

// world -> the frame at `eye` that looks at `target` along -z
function lookAt(eye, target, up) {
  const z = unit(subtract(eye, target));
  const side = cross(up, z);
  const x = norm(side) > 1e-6 ? unit(side) : unit(cross(Math.abs(z[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0], z));
  return invertAffine(fromColumns(x, cross(z, x), z, eye));
}

// interpolates the short way between two unit quaternions stored in `a` at `i` and in `b` at `j`; written to `out` at `k`
function slerp(a, i, b, j, s, out, k) {
  let d = 0, na = 0, nb = 0;
  for (let c = 0; c < 4; c++) {
    d += a[i + c] * b[j + c];
    na += a[i + c] ** 2;
    nb += b[j + c] ** 2;
  }
  const size = Math.sqrt(na * nb) || 1;
  const sign = d < 0 ? -1 : 1;
  const angle = Math.acos(Math.min(Math.abs(d) / size, 1));
  // for small angles a straight line cannot be distinguished from the arc
  const arc = angle > 1e-3;
  const u = (arc ? Math.sin((1 - s) * angle) / Math.sin(angle) : 1 - s) / (Math.sqrt(na) || 1);
  const v = (sign * (arc ? Math.sin(s * angle) / Math.sin(angle) : s)) / (Math.sqrt(nb) || 1);
  for (let c = 0; c < 4; c++) out[k + c] = u * a[i + c] + v * b[j + c];
  normalise(out, k);
}

function normalise(q, k) {
  const size = Math.hypot(q[k], q[k + 1], q[k + 2], q[k + 3]);
  if (size > 1e-12) for (let c = 0; c < 4; c++) q[k + c] /= size;
  else { q[k] = 1; q[k + 1] = q[k + 2] = q[k + 3] = 0; }
}

// a box around points
class Bounds {
  constructor() { this.low = [Infinity, Infinity, Infinity]; this.high = [-Infinity, -Infinity, -Infinity]; }

  get empty() { return !(this.low[0] <= this.high[0]); }

  add(p) {
    if (!Number.isFinite(p[0] + p[1] + p[2])) return;
    for (let i = 0; i < 3; i++) {
      if (p[i] < this.low[i]) this.low[i] = p[i];
      if (p[i] > this.high[i]) this.high[i] = p[i];
    }
  }

  // adds the box `other` of a body frame, transformed by the matrix `m`
  addBox(m, other) {
    for (const corner of other.corners()) this.add(transformPoint(m, corner));
  }

  corners() {
    const pick = (n, i) => ((n >> i) & 1 ? this.high[i] : this.low[i]);
    return Array.from({ length: 8 }, (_, n) => [pick(n, 0), pick(n, 1), pick(n, 2)]);
  }

  get centre() { return scaled(add(this.low, this.high), 0.5); }

  get radius() { return 0.5 * norm(subtract(this.high, this.low)); }
}
