// Normals of triangle meshes: smooth over gentle edges, split at sharp ones. Also the edges of a wireframe.

const CREASE = Math.cos((35 * Math.PI) / 180); // edges sharper than this stay sharp, as on machined parts
const FLAT = 2; // no two faces share a normal

function meshShape(geometry) {
  const positions = decodeArray(geometry.positions);
  const count = Math.floor(positions.length / 3);
  let indices = decodeArray(geometry.indices, "uint32");
  if (!indices.length) indices = Uint32Array.from({ length: count }, (_, i) => i);
  indices = indices.filter((_, i) => {
    const k = 3 * Math.floor(i / 3);
    return k + 2 < indices.length && indices[k] < count && indices[k + 1] < count && indices[k + 2] < count;
  });
  const colors = geometry.colors ? decodeArray(geometry.colors, "uint8") : null;
  return withNormals(positions, indices, colors, geometry.smooth === false ? FLAT : CREASE);
}

// per triangle: its unit normal; per corner: its angle, the weight of the face at that corner
function faces(positions, indices) {
  const normals = new Float32Array(indices.length), angles = new Float32Array(indices.length);
  for (let f = 0; f < indices.length; f += 3) {
    const p = [0, 1, 2].map((c) => {
      const k = 3 * indices[f + c];
      return [positions[k], positions[k + 1], positions[k + 2]];
    });
    normals.set(unit(cross(subtract(p[1], p[0]), subtract(p[2], p[0])), [0, 0, 0]), f);
    for (let c = 0; c < 3; c++) {
      const u = subtract(p[(c + 1) % 3], p[c]), v = subtract(p[(c + 2) % 3], p[c]);
      angles[f + c] = Math.acos(clamp(dot(u, v) / (norm(u) * norm(v) || 1), -1, 1));
    }
  }
  return { normals, angles };
}

// the corners that meet at each vertex, as a list with starts
function cornersByVertex(indices, count) {
  const start = new Uint32Array(count + 1), corners = new Uint32Array(indices.length);
  for (const v of indices) start[v + 1]++;
  for (let v = 0; v < count; v++) start[v + 1] += start[v];
  const next = start.slice();
  for (let c = 0; c < indices.length; c++) corners[next[indices[c]]++] = c;
  return { start, corners };
}

function withNormals(positions, indices, colors, crease) {
  const count = positions.length / 3;
  const { normals, angles } = faces(positions, indices);
  const { start, corners } = cornersByVertex(indices, count);
  const out = { positions: [], normals: [], colors: colors ? [] : null, indices: new Uint32Array(indices.length) };
  for (let v = 0; v < count; v++) {
    const made = []; // the copies of this vertex: [index, nx, ny, nz]
    for (let i = start[v]; i < start[v + 1]; i++) {
      const own = 3 * Math.floor(corners[i] / 3);
      const a = normals[own], b = normals[own + 1], c = normals[own + 2];
      let x = a * 1e-6, y = b * 1e-6, z = c * 1e-6;
      for (let j = start[v]; j < start[v + 1]; j++) {
        const k = 3 * Math.floor(corners[j] / 3);
        const cosine = a * normals[k] + b * normals[k + 1] + c * normals[k + 2];
        if (j !== i && cosine < crease) continue;
        const weight = angles[corners[j]];
        x += normals[k] * weight; y += normals[k + 1] * weight; z += normals[k + 2] * weight;
      }
      const size = Math.hypot(x, y, z) || 1;
      x /= size; y /= size; z /= size;
      let copy = made.find((m) => m[1] * x + m[2] * y + m[3] * z > 0.9999);
      if (!copy) {
        copy = [out.positions.length / 3, x, y, z];
        made.push(copy);
        out.positions.push(positions[3 * v], positions[3 * v + 1], positions[3 * v + 2]);
        out.normals.push(x, y, z);
        if (colors) out.colors.push(colors[3 * v], colors[3 * v + 1], colors[3 * v + 2]);
      }
      out.indices[corners[i]] = copy[0];
    }
  }
  return out;
}

// pairs of vertices of a wireframe: all edges except those inside a flat face or, in fine meshes, gentle ones
function edgesOf(positions, indices) {
  const flat = indices.length > 3 * 5000 ? 0.985 : 0.9999;
  const place = new Map(), weld = new Uint32Array(positions.length / 3);
  for (let v = 0; v < weld.length; v++) {
    const key = `${positions[3 * v]},${positions[3 * v + 1]},${positions[3 * v + 2]}`;
    if (!place.has(key)) place.set(key, v);
    weld[v] = place.get(key);
  }
  const { normals } = faces(positions, indices);
  const seen = new Map(), edges = [], base = weld.length;
  for (let f = 0; f < indices.length; f += 3) {
    for (let c = 0; c < 3; c++) {
      const a = weld[indices[f + c]], b = weld[indices[f + ((c + 1) % 3)]];
      if (a === b) continue;
      const key = Math.min(a, b) * base + Math.max(a, b);
      const other = seen.get(key);
      if (other === undefined) seen.set(key, f);
      else if (other >= 0) {
        const cosine = normals[f] * normals[other] + normals[f + 1] * normals[other + 1] + normals[f + 2] * normals[other + 2];
        if (cosine < flat) edges.push(a, b);
        seen.set(key, -1);
      }
    }
  }
  for (const [key, face] of seen) if (face >= 0) edges.push(Math.floor(key / base), key % base);
  return new Uint32Array(edges);
}
