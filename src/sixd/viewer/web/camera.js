// The camera: orbits a target and keeps "up" upright. Angles in radians; the half height of the picture is tan of half the field of view.

const HALF_HEIGHT = Math.tan((34 / 2) * (Math.PI / 180));
const VIEWS = { front: [0, 0.06], side: [-Math.PI / 2, 0.06], top: [-Math.PI / 2, Math.PI / 2], iso: [-0.87, 0.36] };

class Camera {
  constructor() {
    this.target = [0, 0, 0];
    this.distance = 3;
    this.azimuth = VIEWS.iso[0];
    this.elevation = VIEWS.iso[1];
    this.setUp([0, 0, 1]);
    this.aspect = 1;
    this.margin = [0.84, 0.84]; // the fraction of the picture that a fitted view fills
    this.flight = null;
  }

  // the frame of the angles: x, y across and z along "up"
  setUp(up) {
    const z = unit(up), x = Math.abs(z[2]) > 0.99 ? unit([1, 0, -z[0] / z[2]]) : unit(cross([0, 0, 1], z));
    this.basis = [x, cross(z, x), z];
  }

  direction(azimuth = this.azimuth, elevation = this.elevation) {
    const [x, y, z] = this.basis, c = Math.cos(elevation);
    return add(add(scaled(x, c * Math.cos(azimuth)), scaled(y, c * Math.sin(azimuth))), scaled(z, Math.sin(elevation)));
  }

  get position() { return add(this.target, scaled(this.direction(), this.distance)); }

  // right, up and towards the eye
  axes() {
    const side = [-Math.sin(this.azimuth), Math.cos(this.azimuth)];
    const right = add(scaled(this.basis[0], side[0]), scaled(this.basis[1], side[1]));
    const back = this.direction();
    return [right, cross(back, right), back];
  }

  place(position, target) {
    const away = subtract(position, target), d = norm(away) || 1;
    const [x, y, z] = this.basis.map((axis) => dot(axis, away) / d);
    this.target = [...target];
    this.distance = d;
    this.elevation = Math.asin(clamp(z, -1, 1));
    if (Math.hypot(x, y) > 1e-6) this.azimuth = Math.atan2(y, x);
  }

  matrices(nearest) {
    const [right, up, back] = this.axes();
    const view = invertAffine(fromColumns(right, up, back, this.position));
    const near = Math.max(this.distance * 0.02, nearest), far = this.distance * 60 + 20 * nearest / 0.02;
    const projection = perspective(HALF_HEIGHT, this.aspect, near, far);
    return { view, projection, viewProjection: multiply(projection, view) };
  }

  // the distance at which a box just fills the picture, with a margin
  distanceFor(bounds, azimuth = this.azimuth, elevation = this.elevation) {
    const saved = [this.azimuth, this.elevation];
    [this.azimuth, this.elevation] = [azimuth, elevation];
    const [right, up, back] = this.axes();
    [this.azimuth, this.elevation] = saved;
    const height = HALF_HEIGHT * this.margin[1], width = HALF_HEIGHT * this.aspect * this.margin[0];
    let distance = 0;
    for (const corner of bounds.corners()) {
      const p = subtract(corner, bounds.centre), depth = dot(p, back);
      distance = Math.max(distance, depth + Math.abs(dot(p, up)) / height, depth + Math.abs(dot(p, right)) / width);
    }
    return Math.max(distance, 1.2 * bounds.radius, 1e-6);
  }

  orbit(dx, dy) {
    this.flight = null;
    this.azimuth -= dx;
    this.elevation = clamp(this.elevation + dy, -Math.PI / 2, Math.PI / 2);
  }

  // moves by fractions of the picture's height
  pan(dx, dy) {
    this.flight = null;
    const [right, up] = this.axes(), s = 2 * HALF_HEIGHT * this.distance;
    this.target = add(this.target, add(scaled(right, -dx * s), scaled(up, dy * s)));
  }

  // nearer or farther; the point under the pointer (x, y in -1..1) stays where it is
  zoom(factor, x = 0, y = 0) {
    this.flight = null;
    const before = this.distance;
    this.distance = clamp(before * factor, 1e-4, 1e7);
    const [right, up] = this.axes(), s = HALF_HEIGHT * (before - this.distance);
    this.target = add(this.target, add(scaled(right, x * this.aspect * s), scaled(up, y * s)));
  }

  // moves smoothly to another view; goal has some of target, distance, azimuth, elevation
  fly(goal, now, calm) {
    const from = { target: this.target, distance: this.distance, azimuth: this.azimuth, elevation: this.elevation };
    const to = { ...from, ...goal };
    const turn = to.azimuth - from.azimuth;
    to.azimuth = from.azimuth + Math.atan2(Math.sin(turn), Math.cos(turn));
    this.flight = { from, to, start: now, last: calm ? 0 : 420 };
    if (calm) this.advance(now);
  }

  // one step of such a move; true while it goes on
  advance(now) {
    if (!this.flight) return false;
    const { from, to, start, last } = this.flight;
    const s = last ? clamp((now - start) / last, 0, 1) : 1, eased = s * s * (3 - 2 * s);
    this.target = mixed(from.target, to.target, eased);
    this.distance = from.distance * (to.distance / from.distance) ** eased;
    this.azimuth = from.azimuth + (to.azimuth - from.azimuth) * eased;
    this.elevation = from.elevation + (to.elevation - from.elevation) * eased;
    if (s >= 1) this.flight = null;
    return this.flight !== null;
  }

  // moves with the followed body, also during a move to another view
  carry(shift) {
    this.target = add(this.target, shift);
    if (!this.flight) return;
    this.flight.from.target = add(this.flight.from.target, shift);
    this.flight.to.target = add(this.flight.to.target, shift);
  }

  // the ray from the eye through a point of the picture (x, y in -1..1)
  ray(x, y) {
    const [right, up, back] = this.axes();
    const across = add(scaled(right, x * HALF_HEIGHT * this.aspect), scaled(up, y * HALF_HEIGHT));
    return { origin: this.position, direction: unit(subtract(across, back)) };
  }
}
