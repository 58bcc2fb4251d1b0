// Starts the page. `window.sixd` is its interface for scripts, tests and a server:
//   scene, ready (a promise), options (an object of switches, see options.js), camera
//   play(), pause(), seek(t), step(n), time, start, end, playing; setConfiguration(q), configuration
//   simulation, of a live page: q, qd, time, pull, pace, energy(), observed(), reactions(), contacts(), reset(), advance(steps) at once,
//     set(slider, value)
//   view(name or null), draw() now, picture(…) without a window, frames (pictures drawn so far), bodyPose(name, actor) 4x4 by columns, pixel(name),
//   near(actor), touching(actor)

// polls the server for live configurations: the next request follows each answer
async function listen(app, address) {
  let version = -1, pause = 200;
  for (;;) {
    try {
      const answer = await fetch(`${address}?since=${version}`, { cache: "no-store" });
      if (answer.status !== 204 && !answer.ok) throw new Error(String(answer.status));
      const state = answer.status === 204 ? null : await answer.json();
      if (state && state.version !== version) {
        version = state.version;
        if (state.pairs) app.world.renewPairs(state);
        if (Array.isArray(state.q)) app.setConfiguration(state.q);
      } else await new Promise((done) => setTimeout(done, 100));
      pause = 200;
    } catch {
      pause = Math.min(2 * pause, 5000);
      await new Promise((done) => setTimeout(done, pause));
    }
  }
}

const scene = readScene(JSON.parse(document.getElementById("scene").textContent));
const simulation = scene.simulation ? new Simulation(window.sixdSimulation(), scene.simulation, scene.bodies) : null;
const app = new App(scene, window.sixdKinematics, simulation);
window.sixd = {
  scene,
  options: app.options,
  camera: app.camera,
  play: () => { app.clock.play(); app.timeChanged(); },
  pause: () => { app.clock.pause(); app.timeChanged(); },
  seek: (time) => { app.clock.seek(time); app.timeChanged(); },
  step: (count) => app.transport.step(Math.sign(count), Math.abs(count)),
  setConfiguration: (q) => app.setConfiguration(q),
  simulation: simulation && {
    get q() { return Array.from(simulation.q); },
    get qd() { return Array.from(simulation.qd); },
    get time() { return simulation.time; },
    get pull() { return simulation.pull && { ...simulation.pull }; },
    get pace() { return app.clock.pace; },
    energy: () => simulation.energy(),
    // momentum and so on by name, in world axes; the forces in joints and loops, in the axes of the page
    observed: () => {
      const values = Array.from(simulation.observe()), sizes = simulation.data.observed;
      return Object.fromEntries(Object.entries(simulation.observedAt).map(([name, first]) => [name, values.slice(first, first + sizes[name])]));
    },
    reactions: () => {
      simulation.react();
      return simulation.data.reactions.map((_, k) => Array.from(simulation.reactions.subarray(3 * k, 3 * k + 3)));
    },
    // points that a ground may touch, and the forces on them, means over the steps since the last call or picture
    contacts: () => simulation.touch(),
    reset: () => { simulation.reset(); app.timeChanged(); },
    advance: (steps) => { for (let i = 0; i < steps && simulation.step(); i++); app.timeChanged(); },
    set: (label, value) => {
      const slider = simulation.sliders.find((one) => one.label === label);
      simulation.set(slider, clamp(value, slider.low, slider.high));
      app.panel.show();
      app.parametersChanged();
    },
  },
  // the picture of a configuration from a camera: RGBA as base64, the lowest row first
  picture: (width, height, q, eye, target, up, near = null) => {
    const { camera, canvas, renderer } = app, { gl } = renderer, pixels = new Uint8Array(4 * width * height), parts = [];
    Object.assign(canvas, { width, height });
    if (gl.drawingBufferWidth !== width || gl.drawingBufferHeight !== height) throw new Error("the picture is too large");
    app.world.setConfiguration(q);
    if (near) showNear(app.world.actors[0], new NearPairs({ ...scene.pairs, values: near }).at(0, 0));
    camera.aspect = width / height;
    camera.setUp(up);
    camera.place(eye, target);
    renderer.ratio = 1;
    renderer.draw(camera, app.options, false);
    gl.readPixels(0, 0, width, height, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
    for (let i = 0; i < pixels.length; i += 32768) parts.push(String.fromCharCode(...pixels.subarray(i, i + 32768)));
    return btoa(parts.join(""));
  },
  view: (name) => app.view(name),
  draw: () => app.drawNow(),
  get time() { return app.clock.time; },
  get start() { return app.clock.start; },
  get end() { return app.clock.end; },
  get playing() { return app.clock.playing; },
  get configuration() { return Array.from(app.world.actors[0].q); },
  get frames() { return app.renderer ? app.renderer.frames : 0; },
  bodyPose: (name, actor = 0) => {
    const body = scene.bodies.findIndex((one) => one.name === plainText(name));
    return body < 0 ? null : Array.from(app.world.actors[actor].matrices[body]);
  },
  // the nearest points of collision shapes now, and the names of those that overlap
  near: (actor = 0) => app.world.actors[actor].near,
  touching: (actor = 0) => app.world.actors[actor].items.filter((item) => item.touches).map((item) => item.name),
  // where the centre of mass of a body is in the window, in pixels
  pixel: (name) => {
    const body = scene.bodies.findIndex((one) => one.name === plainText(name)), box = app.canvas.getBoundingClientRect();
    const point = app.world.pointOf(app.world.actors[0], body, finiteList(scene.bodies[body].com, 3));
    const [x, y] = project(app.camera.matrices(0.004 * app.world.size).viewProjection, point);
    return [box.left + ((x + 1) / 2) * box.width, box.top + ((1 - y) / 2) * box.height];
  },
  ready: new Promise((done) => requestAnimationFrame(() => { app.start(); done(true); })),
};
if (scene.server) listen(app, scene.server);
