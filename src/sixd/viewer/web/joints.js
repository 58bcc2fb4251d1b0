// Sliders for the joints, if there is no motion to play. They keep the limits; orientations have three angles.

const LENGTHS = ["prismatic", "planar", "free", "cylindrical"];
// rotations about the fixed axes x, y, z in turn, in degrees: they cover all orientations
const ANGLES = [["roll", 180], ["pitch", 90], ["yaw", 180]];

class JointPanel {
  // changed(q) is called when the configuration changes
  constructor(dock, world, changed) {
    Object.assign(this, { dock, world, changed });
    this.q = world.actors[0].q;
    this.start = Float64Array.from(this.q);
    this.rows = new Map(); // coordinate -> {slider, number}
    this.turns = []; // of each quaternion {start, degrees, inputs}
    const head = element("div", "dockhead"), title = element("h2", "", "Joints"), reset = element("button", "text", "Reset");
    reset.id = "j-reset";
    reset.onclick = () => this.put(this.start);
    head.append(title, reset);
    dock.append(head);
    for (const joint of world.scene.joints) if (joint.q[1] > joint.q[0]) dock.append(this.section(joint));
    this.show();
  }

  section(joint) {
    const box = element("section", "joint"), title = element("h3"), kind = String(joint.kind).toLowerCase();
    const count = joint.q[1] - joint.q[0];
    const turning = ["free", "spherical"].includes(kind) ? 4 : 0;
    title.append(element("span", "", joint.name), element("small", "", turning ? `${kind}, angles in degrees` : kind));
    title.title = joint.name;
    box.append(title);
    if (turning) box.append(...this.orientation(joint));
    for (let c = turning; c < count; c++) {
      const label = (joint.labels && joint.labels[c]) || "";
      const range = this.range(joint, kind, c, label);
      box.append(this.coordinate(joint.q[0] + c, range, count > 1 ? shortLabel(label, joint.name) : "", joint.name));
    }
    return box;
  }

  // [lower, upper] of the slider and whether they are true limits
  range(joint, kind, c, label) {
    const lower = joint.lower && joint.lower[c], upper = joint.upper && joint.upper[c];
    const now = this.q[joint.q[0] + c];
    const unit = joint.units && joint.units[c];
    const long = unit ? !/rad/.test(unit) && unit !== "1" : LENGTHS.includes(kind) && !/angle|rad|rot|yaw/i.test(label);
    const reach = long ? 1.5 * this.world.size : Math.PI;
    const hasLow = typeof lower === "number", hasHigh = typeof upper === "number";
    const low = hasLow ? lower : Math.min(hasHigh ? upper - 2 * reach : -reach, now);
    const high = hasHigh ? upper : Math.max(hasLow ? lower + 2 * reach : reach, now);
    return { low, high: high > low ? high : low + 1e-9, low0: hasLow, high0: hasHigh };
  }

  // three sliders for the quaternion that a joint begins with
  orientation(joint) {
    const turn = { start: joint.q[0], degrees: null, inputs: [] };
    this.turns.push(turn);
    return ANGLES.map(([label, most], k) => {
      const set = (value) => {
        // the other two angles stay as shown: at a pitch of 90° they do not follow from the orientation
        turn.degrees[k] = clamp(value, -most, most);
        const q = Float64Array.from(this.q);
        q.set(fromAngles(turn.degrees), turn.start);
        this.put(q);
      };
      const home = () => anglesOf(this.start.slice(turn.start, turn.start + 4))[k];
      const inputs = this.row(label, joint.name, { low: -most, high: most }, set, () => turn.degrees[k], home);
      inputs.slider.dataset.angle = label;
      turn.inputs.push(inputs);
      return inputs.box;
    });
  }

  coordinate(index, range, label, name) {
    const set = (value) => {
      const q = Float64Array.from(this.q);
      q[index] = clamp(value, range.low0 ? range.low : -Infinity, range.high0 ? range.high : Infinity);
      this.put(q);
    };
    const inputs = this.row(label, name, range, set, () => this.q[index], () => this.start[index]);
    inputs.slider.dataset.coordinate = index;
    this.rows.set(index, { ...inputs, range });
    return inputs.box;
  }

  // a slider and a field for a number: set(value), now() and home(), what a double click returns to
  row(label, name, { low, high }, set, now, home) {
    const box = element("div", label ? "coordinate" : "coordinate single"), slider = element("input"), number = element("input");
    Object.assign(slider, { type: "range", min: low, max: high, step: "any" });
    Object.assign(number, { type: "number", step: "any" });
    for (const input of [slider, number]) input.setAttribute("aria-label", `${name} ${label}`.trim());
    slider.oninput = () => set(slider.valueAsNumber);
    number.onchange = () => set(finite(number.valueAsNumber, now()));
    slider.ondblclick = () => set(home());
    if (label) box.append(element("label", "", label));
    box.append(slider, number);
    return { box, slider, number };
  }

  put(q) {
    this.changed(q);
    this.show();
  }

  show() {
    for (const [index, { slider, number, range }] of this.rows) {
      const value = this.q[index];
      if (value < range.low && !range.low0) slider.min = value;
      if (value > range.high && !range.high0) slider.max = value;
      this.write(slider, number, value, 3);
    }
    for (const turn of this.turns) {
      const q = this.q.slice(turn.start, turn.start + 4);
      if (!turn.degrees || !sameTurn(fromAngles(turn.degrees), q)) turn.degrees = anglesOf(q);
      turn.inputs.forEach(({ slider, number }, k) => this.write(slider, number, turn.degrees[k], 1));
    }
  }

  write(slider, number, value, digits) {
    slider.value = String(value);
    const low = Number(slider.min), high = Number(slider.max);
    slider.style.setProperty("--done", `${100 * clamp((value - low) / (high - low), 0, 1)}%`);
    if (document.activeElement !== number) number.value = value.toFixed(digits).replace(/^-(0\.0*)$/, "$1");
  }
}

// the quaternion w x y z of Rz(yaw) Ry(pitch) Rx(roll), from degrees
function fromAngles(degrees) {
  const half = degrees.map((x) => (x * Math.PI) / 360), [cr, cp, cy] = half.map(Math.cos), [sr, sp, sy] = half.map(Math.sin);
  return [cr * cp * cy + sr * sp * sy, sr * cp * cy - cr * sp * sy, cr * sp * cy + sr * cp * sy, cr * cp * sy - sr * sp * cy];
}

// the inverse, for a quaternion of any length; at a pitch of ±90° the roll is 0
function anglesOf([w, x, y, z]) {
  const size = w * w + x * x + y * y + z * z || 1, lift = clamp((2 * (w * y - x * z)) / size, -1, 1);
  const level = Math.abs(lift) < 1 - 1e-12;
  const roll = level ? Math.atan2(2 * (w * x + y * z), w * w - x * x - y * y + z * z) : 0;
  const yaw = level ? Math.atan2(2 * (w * z + x * y), w * w + x * x - y * y - z * z) : Math.atan2(2 * (w * z - x * y), w * w - x * x + y * y - z * z);
  return [roll, Math.asin(lift), yaw].map((a) => (a * 180) / Math.PI);
}

// whether two quaternions, the first of length one, are the same rotation
function sameTurn(a, b) {
  const along = a.reduce((sum, x, k) => sum + x * b[k], 0);
  return 1 - Math.abs(along) / (Math.hypot(...b) || 1) < 1e-9;
}

// "shoulder.x" under the heading "shoulder" is "x"
function shortLabel(label, name) {
  const rest = label.startsWith(name) ? label.slice(name.length).replace(/^[\s.:_/]+/, "") : label;
  return rest || label;
}

// a new element with a class and a text
function element(tag, kind = "", text = "") {
  const made = document.createElement(tag);
  if (kind) made.className = kind;
  if (text) made.textContent = text;
  return made;
}
