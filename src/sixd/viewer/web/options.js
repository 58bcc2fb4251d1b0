// The options of the view: one object whose properties call the listeners when they change.

const DEFAULTS = {
  bodies: "solid", grid: true, shadows: true, frames: false, axes: false, com: false, inertia: false, contacts: true, distances: true,
  trails: false, trailBody: "", names: false, reactions: false, momentum: false, follow: "", theme: "", panel: true, loop: true, reverse: false, speed: 1,
};
const CHOICES = { bodies: ["solid", "clear", "wire", "hidden"], trails: [false, "origin", "com"], theme: ["", "light", "dark"] };

function makeOptions(settings) {
  const values = { ...DEFAULTS }, listeners = [], options = {};
  const accept = (name, value) => {
    if (name === "speed") return clamp(Math.abs(finite(value, 1)) || 1, 0.01, 100);
    if (name === "trails") return value === true ? "origin" : CHOICES.trails.includes(value) ? value : false;
    if (CHOICES[name]) return CHOICES[name].includes(value) ? value : DEFAULTS[name];
    return typeof DEFAULTS[name] === "boolean" ? Boolean(value) : String(value ?? "");
  };
  for (const name of Object.keys(DEFAULTS)) {
    if (settings && settings[name] !== undefined && settings[name] !== null) values[name] = accept(name, settings[name]);
    Object.defineProperty(options, name, {
      enumerable: true,
      get: () => values[name],
      set: (value) => {
        const taken = accept(name, value);
        if (taken === values[name]) return;
        values[name] = taken;
        for (const listener of listeners) listener(name, taken);
      },
    });
  }
  Object.defineProperty(options, "onChange", { value: (listener) => listeners.push(listener) });
  return options;
}
