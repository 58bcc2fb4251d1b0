// Sliders for the joints, where there is no motion to play. Limits hold; quaternions stay of length one.

const LENGTHS = ["prismatic", "planar", "free", "cylindrical"];

class JointPanel {
  // changed(q): the configuration is another one now
  constructor(dock, world, changed) {
    Object.assign(this, { dock, world, changed });
    this.q = world.actors[0].q;
    this.start = Float64Array.from(this.q);
    this.rows = new Map(); // coordinate -> {slider, number}
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
    title.append(element("span", "", joint.name), element("small", "", kind));
    title.title = joint.name;
    box.append(title);
    const turning = ["free", "spherical"].includes(kind) ? 4 : 0;
    for (let c = 0; c < count; c++) {
      const label = (joint.labels && joint.labels[c]) || "";
      const range = this.range(joint, kind, c, c < turning, label);
      box.append(this.coordinate(joint.q[0] + c, range, count > 1 ? shortLabel(label, joint.name) : "", joint.name, c < turning ? joint.q[0] : -1));
    }
    return box;
  }

  // [lower, upper] of the slider and whether they are true limits
  range(joint, kind, c, turning, label) {
    if (turning) return { low: -1, high: 1, low0: true, high0: true };
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

  coordinate(index, range, label, name, quaternion) {
    const row = element("div", label ? "coordinate" : "coordinate single");
    const slider = element("input"), number = element("input");
    Object.assign(slider, { type: "range", min: range.low, max: range.high, step: "any" });
    Object.assign(number, { type: "number", step: "any" });
    for (const input of [slider, number]) input.setAttribute("aria-label", `${name} ${label}`.trim());
    slider.dataset.coordinate = index;
    slider.oninput = () => this.move(index, slider.valueAsNumber, quaternion, range);
    number.onchange = () => this.move(index, finite(number.valueAsNumber, this.q[index]), quaternion, range);
    slider.ondblclick = () => this.move(index, this.start[index], quaternion, range);
    if (label) row.append(element("label", "", label));
    row.append(slider, number);
    this.rows.set(index, { slider, number, range });
    return row;
  }

  move(index, value, quaternion, range) {
    const q = Float64Array.from(this.q);
    q[index] = clamp(value, range.low0 ? range.low : -Infinity, range.high0 ? range.high : Infinity);
    if (quaternion >= 0) holdUnit(q, quaternion, index);
    this.put(q);
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
      slider.value = String(value);
      const low = Number(slider.min), high = Number(slider.max);
      slider.style.setProperty("--done", `${100 * clamp((value - low) / (high - low), 0, 1)}%`);
      if (document.activeElement !== number) number.value = value.toFixed(3);
    }
  }
}

// keep the entry that was set, scale the other three to length one together with it
function holdUnit(q, start, index) {
  const kept = clamp(q[index], -1, 1), others = [0, 1, 2, 3].map((c) => start + c).filter((i) => i !== index);
  const size = Math.hypot(...others.map((i) => q[i])), wanted = Math.sqrt(1 - kept * kept);
  q[index] = kept;
  if (size > 1e-9) for (const i of others) q[i] *= wanted / size;
  else q[index === start ? start + 1 : start] = wanted;
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
