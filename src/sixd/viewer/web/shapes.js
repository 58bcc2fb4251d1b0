// Triangles of the primitive shapes, in their own frames [m]. Each returns {positions, normals, indices}; meshes: normals.js.

// a surface (rows+1) x (columns+1): point(u, v) -> [position, normal], u and v in 0..1
function surface(columns, rows, point, into = { positions: [], normals: [], indices: [] }) {
  const first = into.positions.length / 3;
  for (let j = 0; j <= rows; j++) {
    for (let i = 0; i <= columns; i++) {
      const [p, n] = point(i / columns, j / rows);
      into.positions.push(...p);
      into.normals.push(...unit(n));
    }
  }
  for (let j = 0; j < rows; j++) {
    for (let i = 0; i < columns; i++) {
      const a = first + j * (columns + 1) + i;
      const b = a + columns + 1;
      into.indices.push(a, a + 1, b + 1, a, b + 1, b);
    }
  }
  return into;
}

function boxShape([x, y, z]) {
  const shape = { positions: [], normals: [], indices: [] };
  const half = [x / 2, y / 2, z / 2];
  for (let axis = 0; axis < 3; axis++) {
    for (const side of [-1, 1]) {
      surface(1, 1, (u, v) => {
        const p = [0, 0, 0], n = [0, 0, 0];
        n[axis] = side;
        p[axis] = side * half[axis];
        p[(axis + 1) % 3] = side * (2 * u - 1) * half[(axis + 1) % 3];
        p[(axis + 2) % 3] = (2 * v - 1) * half[(axis + 2) % 3];
        return [p, n];
      }, shape);
    }
  }
  return shape;
}

// around z: the profile is a list of [radius, height, normal's radial part, normal's z]
function turned(profile, columns, into) {
  return surface(columns, profile.length - 1, (u, v) => {
    const [r, z, nr, nz] = profile[Math.round(v * (profile.length - 1))];
    const c = Math.cos(2 * Math.PI * u), s = Math.sin(2 * Math.PI * u);
    return [[r * c, r * s, z], [nr * c, nr * s, nz]];
  }, into);
}

function cylinderShape([radius, length], columns = 48) {
  const h = length / 2;
  // a narrow bevel catches the light at the rim
  const bevel = Math.min(0.06 * radius, 0.1 * length);
  const shape = turned([[0, -h, 0, -1], [radius - bevel, -h, 0, -1]], columns);
  turned([[radius - bevel, -h, 0, -1], [radius, -h + bevel, 1, 0]], columns, shape);
  turned([[radius, -h + bevel, 1, 0], [radius, h - bevel, 1, 0]], columns, shape);
  turned([[radius, h - bevel, 1, 0], [radius - bevel, h, 0, 1]], columns, shape);
  return turned([[radius - bevel, h, 0, 1], [0, h, 0, 1]], columns, shape);
}

function arc(radius, centre, from, to, steps) {
  return Array.from({ length: steps + 1 }, (_, i) => {
    const a = from + ((to - from) * i) / steps;
    return [radius * Math.cos(a), centre + radius * Math.sin(a), Math.cos(a), Math.sin(a)];
  });
}

function capsuleShape([radius, length]) {
  const h = length / 2, q = Math.PI / 2;
  return turned([...arc(radius, -h, -q, 0, 12), ...arc(radius, h, 0, q, 12)], 40);
}

function ellipsoidShape([a, b, c]) {
  return surface(48, 28, (u, v) => {
    const east = 2 * Math.PI * u, north = Math.PI * (v - 0.5);
    const n = [Math.cos(north) * Math.cos(east), Math.cos(north) * Math.sin(east), Math.sin(north)];
    return [[a * n[0], b * n[1], c * n[2]], [n[0] * b * c, n[1] * a * c, n[2] * a * b]];
  });
}

// its centre of mass at the origin: the base at -h/4, the tip at 3h/4
function coneShape([radius, height], columns = 64) {
  const low = -height / 4, high = (3 * height) / 4;
  const shape = turned([[0, low, 0, -1], [radius, low, 0, -1]], columns);
  return turned([[radius, low, height, radius], [0, high, height, radius]], columns, shape);
}

// a cone of radius 1 from z = 0 to its tip at z = 1, for the markers; its normals suit cones longer than wide
function tipShape(columns = 32) {
  const shape = turned([[0, 0, 0, -1], [1, 0, 0, -1]], columns);
  return turned([[1, 0, 0.9, 0.4], [0, 1, 0.9, 0.4]], columns, shape);
}

// a rod of radius 1 from z = 0 to z = 1, for the markers
function rodShape() {
  const shape = cylinderShape([1, 1], 20);
  for (let i = 2; i < shape.positions.length; i += 3) shape.positions[i] += 0.5;
  return shape;
}

const SHAPES = {
  box: boxShape,
  cylinder: cylinderShape,
  capsule: capsuleShape,
  cone: coneShape,
  sphere: ([radius]) => ellipsoidShape([radius, radius, radius]),
  ellipsoid: ellipsoidShape,
};
const SIZES = { box: 3, cylinder: 2, capsule: 2, cone: 2, sphere: 1, ellipsoid: 3 };

// the triangles (or the points of a line) of one geometry of the scene; null for planes and unknown kinds
function shapeOf(geometry) {
  if (SHAPES[geometry.kind]) {
    const size = finiteList(geometry.size, SIZES[geometry.kind], 0.1).map((x) => Math.max(Math.abs(x), 1e-9));
    return SHAPES[geometry.kind](size);
  }
  if (geometry.kind === "mesh") return meshShape(geometry);
  if (geometry.kind === "line") return { positions: decodeArray(geometry.positions), line: true };
  return null;
}
