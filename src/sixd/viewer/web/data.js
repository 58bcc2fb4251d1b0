// Reads the scene: arrays from base64, finite numbers from any value. Knows nothing of WebGL or of the page.

const ARRAYS = {
  float32: Float32Array, float64: Float64Array, uint8: Uint8Array,
  uint16: Uint16Array, uint32: Uint32Array, int32: Int32Array,
};

// {type, length, data: base64, little endian} or a plain list -> a typed array; null -> an empty one
function decodeArray(source, type = "float32") {
  if (!source) return new ARRAYS[type](0);
  if (Array.isArray(source)) return ARRAYS[type].from(source, (x) => (x === null ? NaN : x));
  const Kind = ARRAYS[source.type] || ARRAYS[type];
  const text = atob(source.data || "");
  const count = Math.floor(text.length / Kind.BYTES_PER_ELEMENT);
  const bytes = new Uint8Array(count * Kind.BYTES_PER_ELEMENT);
  for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i);
  return new Kind(bytes.buffer);
}

// a finite number, or the fallback
function finite(value, fallback = 0) {
  const number = typeof value === "string" ? parseFloat(value.replace(",", ".").replace("−", "-")) : value;
  return typeof number === "number" && Number.isFinite(number) ? number : fallback;
}

function finiteList(values, count, fallback = 0) {
  return Array.from({ length: count }, (_, i) => finite(values && values[i], fallback));
}

function clamp(x, low, high) {
  return Math.min(Math.max(x, low), high);
}

// 1, 2 or 5 times a power of ten, the largest not above x
function roundDown125(x) {
  const power = 10 ** Math.floor(Math.log10(x));
  const lead = x / power;
  return power * (lead >= 5 ? 5 : lead >= 2 ? 2 : 1);
}

// likewise the smallest not below x
function roundUp125(x) {
  const power = 10 ** Math.floor(Math.log10(x) + 1e-12);
  const lead = x / power - 1e-9;
  return power * (lead <= 1 ? 1 : lead <= 2 ? 2 : lead <= 5 ? 5 : 10);
}

// a number for display: a true minus sign, few digits, no rounding noise
function readable(x, digits = 4) {
  if (!Number.isFinite(x)) return "–";
  const size = Math.abs(x);
  const text = size !== 0 && (size >= 1e6 || size < 1e-4) ? x.toExponential(2) : String(Number(x.toPrecision(digits)));
  return text.replace(/-/g, "−");
}

// formats numbers between low and high in one width; relatively tiny ones read 0, so that the text does not jitter
function formatter(low, high) {
  const largest = Math.max(Math.abs(low), Math.abs(high)), range = Math.max(high - low, 1e-6 * largest);
  const plain = largest === 0 || (largest < 1e6 && largest >= 1e-3);
  const digits = plain ? clamp(3 - Math.floor(Math.log10(range || 1)), 0, 6) : 2;
  const write = (x) => {
    if (!Number.isFinite(x)) return "–";
    const value = Math.abs(x) < 1e-6 * largest ? 0 : x;
    const text = plain ? value.toFixed(digits) : value === 0 ? "0" : value.toExponential(digits);
    return text.replace(/^-(0(\.0*)?)$/, "$1").replace(/-/g, "−");
  };
  return { write, width: Math.max(write(low).length, write(high).length, 4) };
}

// a name that is safe to show: control characters and overrides of the writing direction become a visible sign
function plainText(value) {
  return String(value ?? "").replace(/[\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g, "\ufffd");
}

// a name inside other text, isolated so that its writing direction does not affect the rest
function isolated(text) { return `\u2068${text}\u2069`; }

function plainNames(items) {
  return items.map((item) => {
    const named = { ...item };
    for (const key of ["name", "title", "label"]) if (key in named) named[key] = plainText(named[key]);
    if (Array.isArray(named.labels)) named.labels = named.labels.map(plainText);
    for (const key of ["plots", "series"]) if (Array.isArray(named[key])) named[key] = plainNames(named[key]);
    return named;
  });
}

// the entry of a live page, names made safe
function readSimulation(source) {
  const data = { constants: {}, inputs: [], observed: {}, ...source };
  for (const key of ["sliders", "traces", "plots", "deformed", "reactions"]) data[key] = plainNames(source[key] || []);
  return data;
}

// the scene with all lists present and every index in range
function readScene(source) {
  const scene = { ...source };
  for (const key of ["bodies", "geometries", "visuals", "frames", "joints", "trajectories", "notes", "contact_lines"]) {
    scene[key] = Array.isArray(source[key]) ? source[key].filter((item) => item !== null) : [];
  }
  for (const key of ["bodies", "frames", "joints", "trajectories"]) scene[key] = plainNames(scene[key]);
  scene.notes = scene.notes.map(plainText);
  if (!scene.bodies.length) scene.bodies = [{ name: "world" }];
  const onBody = (item) => Number.isInteger(item.body) && item.body >= 0 && item.body < scene.bodies.length;
  scene.visuals = scene.visuals.filter((item) => onBody(item) && scene.geometries[item.geometry]);
  scene.frames = scene.frames.filter(onBody);
  scene.joints = scene.joints.filter((joint) => Array.isArray(joint.q));
  scene.nq = finite(source.nq, (source.q || []).length);
  scene.q = finiteList(source.q, scene.nq);
  scene.settings = source.settings || {};
  if (source.simulation) scene.simulation = readSimulation(source.simulation);
  scene.title = plainText(source.title) || "sixd";
  if (source.camera) scene.camera = { ...source.camera, track: source.camera.track && plainText(source.camera.track) };
  return scene;
}
