// The hand of the reader in a live page: finds the body under the pointer, and moves the end of the spring with it.

const NEAR = { mouse: 7, touch: 20 }; // [pixels] by which a pointer may miss a body

class Grip {
  constructor(app) {
    Object.assign(this, { app, world: app.world, simulation: app.world.simulation, pointer: null });
  }

  // the body at a point of the picture (-1..1), or nearest to it within some pixels
  find(x, y, kind) {
    const { camera, canvas } = this.app, reach = NEAR[kind] || NEAR.mouse;
    const moves = (hit) => (hit && hit.body > 0 ? hit : null);
    const first = this.world.pick(camera.ray(x, y), true);
    if (first) return moves(first);
    for (const radius of [reach / 2, reach]) {
      for (let k = 0; k < 8; k++) {
        const dx = (2 * radius * Math.cos((k * Math.PI) / 4)) / canvas.clientWidth, dy = (2 * radius * Math.sin((k * Math.PI) / 4)) / canvas.clientHeight;
        const hit = moves(this.world.pick(camera.ray(x + dx, y + dy), true));
        if (hit) return hit;
      }
    }
    return null;
  }

  // whether a body was grabbed
  grab(x, y, event) {
    if (!this.simulation || this.pointer !== null || this.simulation.failed) return false;
    const hit = this.find(x, y, event.pointerType);
    if (!hit) return false;
    const local = transformPoint(invertAffine(hit.actor.matrices[hit.body]), hit.point);
    this.pointer = event.pointerId;
    // the end of the spring moves in the plane through the point that faces the reader
    const [, , back] = this.app.camera.axes();
    this.plane = { point: hit.point, normal: back };
    this.simulation.grab(hit.body, local, hit.point);
    this.app.clock.play();
    this.app.timeChanged();
    return true;
  }

  drag(x, y) {
    const { origin, direction } = this.app.camera.ray(x, y), { point, normal } = this.plane;
    const s = dot(subtract(point, origin), normal) / dot(direction, normal);
    if (Number.isFinite(s) && s > 0 && this.simulation.pull) this.simulation.pull.target = add(origin, scaled(direction, s));
    this.app.refresh();
  }

  drop() {
    this.pointer = null;
    this.simulation.drop();
    this.app.refresh();
  }
}
