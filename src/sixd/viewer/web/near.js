// The nearest points of pairs of collision shapes, for each record of a motion or for one configuration: computed in Python.

class NearPairs {
  constructor({ names, values }) {
    this.names = names;
    this.values = decodeArray(values); // of each record and pair: two points and the signed distance, NaN where they are far
  }

  // the pairs within reach, a part s of the way from a record to the next: [{from, to, distance, names}]
  at(record, s) {
    const step = 7 * this.names.length, { values } = this;
    const near = this.names.map((names, k) => {
      const a = record * step + 7 * k, b = s > 0 ? a + step : a;
      const v = Array.from({ length: 7 }, (_, i) => values[a + i] + (values[b + i] - values[a + i]) * s);
      return { from: v.slice(0, 3), to: v.slice(3, 6), distance: v[6], names };
    });
    return near.filter(({ from, to, distance }) => Number.isFinite(norm(from) + norm(to) + distance));
  }
}

// shows pairs of an actor; those that overlap colour their shapes
function showNear(actor, near) {
  const touching = new Set(near.flatMap(({ distance, names }) => (distance < 0 ? names : [])));
  actor.near = near;
  for (const item of actor.items) item.touches = touching.has(item.name);
}
