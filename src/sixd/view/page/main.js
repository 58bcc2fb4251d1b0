// Puts the page together and draws it when something has changed. `window.sixd` is its interface for scripts and tests:
// scene, ready (a promise), play(), pause(), playing, seek(t), step(n), time, start, end, configuration, setConfiguration(q),
// options (an object of switches), view(name or null), camera, draw(), frames (pictures drawn), bodyPose(name, actor).

class App {
  constructor(scene, kinematics) {
    this.scene = scene;
    this.options = makeOptions(scene.settings);
    if (scene.settings.panel === undefined) this.options.panel = window.innerWidth >= 860;
    this.world = new World(scene, kinematics);
    this.camera = new Camera();
    this.clock = new Clock(this.world.start, this.world.end, this.options);
    this.canvas = document.getElementById("view");
    this.chosen = null;
    this.waiting = false;
    this.moved = false; // the configuration was set by hand
    this.makePanels();
    this.interface = new Interface(this);
    this.startDrawing();
    new Controls(this.canvas, this.camera, {
      changed: () => this.refresh(), refocus: (x, y) => this.refocus(x, y), picked: (x, y) => this.choose(this.world.pick(this.camera.ray(x, y))),
    });
    this.options.onChange((name) => this.optionChanged(name));
    this.notices();
    new ResizeObserver(() => this.resize()).observe(document.getElementById("stage"));
    this.resize();
    this.firstView();
    this.startFollowing();
    if (Number.isFinite(scene.settings.time)) this.clock.seek(scene.settings.time);
    if (this.world.motions.length) this.world.setTime(this.clock.time);
    if (this.world.motions.length && scene.settings.play !== false) this.clock.play();
    this.transport.show();
  }

  makePanels() {
    const { world } = this, dock = document.getElementById("dock");
    this.transport = new Transport(this.clock, world.motions, this.options, () => this.timeChanged());
    this.panel = null;
    if (!world.motions.length && this.scene.joints.some((joint) => joint.q[1] > joint.q[0])) {
      this.panel = new JointPanel(dock, world, (q) => this.setConfiguration(q));
    } else if (this.scene.trajectories.some((source) => (source.plots || []).length)) {
      this.panel = new PlotPanel(dock, world, (time) => { this.clock.seek(time); this.timeChanged(); });
    }
    dock.addEventListener("scroll", () => this.refresh());
  }

  startDrawing() {
    const gl = Renderer.context(this.canvas);
    this.renderer = null;
    if (!gl) return this.excuse();
    try {
      this.renderer = new Renderer(gl, this.world);
    } catch (error) {
      return this.excuse(error);
    }
    this.canvas.addEventListener("webglcontextlost", (event) => { event.preventDefault(); this.renderer = null; });
    this.canvas.addEventListener("webglcontextrestored", () => { this.renderer = new Renderer(gl, this.world); this.resize(); });
  }

  excuse(error) {
    const box = document.getElementById("fallback");
    const more = "Try another browser, or switch on hardware acceleration in this one's settings. Everything else on this page works.";
    box.append(element("strong", "", "This browser cannot draw the picture: WebGL 2 is missing."), element("span", "", more));
    if (error) box.append(element("small", "", String(error.message).slice(0, 300)));
    box.hidden = false;
    this.canvas.hidden = true;
  }

  notices() {
    for (const motion of this.world.motions) {
      if (!motion.failed) continue;
      const who = motion.name ? `“${motion.name}”` : "The motion";
      const text = motion.valid ? `${who} ends at t = ${readable(motion.end, 6)} s: after that its state is not finite.` : `${who} has no finite state.`;
      this.interface.notice(text, "warn");
    }
    if (this.scene.notes.length) this.interface.notice(this.scene.notes.slice(0, 6).join(" "));
  }

  resize() {
    const stage = document.getElementById("stage"), ratio = Math.min(window.devicePixelRatio || 1, 2);
    const width = Math.max(Math.round(stage.clientWidth * ratio), 1), height = Math.max(Math.round(stage.clientHeight * ratio), 1);
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    this.camera.aspect = width / height;
    if (this.renderer) this.renderer.ratio = ratio;
    // draw at once: a resized canvas is blank until then
    this.draw();
  }

  firstView() {
    const camera = this.scene.camera;
    if (camera && camera.position) {
      this.camera.setUp(finiteList(camera.up || [0, 0, 1], 3));
      this.camera.place(finiteList(camera.position, 3), finiteList(camera.target, 3));
    } else {
      // a flat mechanism is seen from its broad side
      const [x, y] = subtract(this.world.room.high, this.world.room.low);
      if (y < 0.3 * x) this.camera.azimuth = -1.22;
      else if (x < 0.3 * y) this.camera.azimuth = -0.35;
      if (Math.min(x, y) < 0.3 * Math.max(x, y)) this.camera.elevation = 0.2;
      this.camera.target = this.world.room.centre;
      this.camera.distance = this.camera.distanceFor(this.world.room);
    }
    if (camera && camera.track) this.options.follow = camera.track;
  }

  view(name) {
    const now = this.options.follow ? this.world.boundsOf() : this.world.room, [azimuth, elevation] = VIEWS[name] || [this.camera.azimuth, this.camera.elevation];
    const bounds = now.empty ? this.world.room : now;
    this.camera.setUp([0, 0, 1]);
    this.fly({ azimuth, elevation, target: bounds.centre, distance: this.camera.distanceFor(bounds, azimuth, elevation) });
  }

  fly(goal) {
    this.camera.fly(goal, performance.now(), window.matchMedia("(prefers-reduced-motion: reduce)").matches);
    this.refresh();
  }

  refocus(x, y) {
    const hit = this.world.pick(this.camera.ray(x, y));
    if (hit) this.fly({ target: hit.point, distance: Math.min(this.camera.distance, 3 * this.world.size) });
    else this.view(null);
  }

  choose(hit) {
    this.chosen = hit;
    this.refresh();
  }

  optionChanged(name) {
    if (name === "follow") this.startFollowing();
    if (name === "panel") this.resize();
    this.refresh();
  }

  startFollowing() {
    const body = this.scene.bodies.findIndex((one, i) => i > 0 && one.name === this.options.follow);
    this.followed = body > 0 ? { body, at: originOf(this.world.actors[0].matrices[body]) } : null;
    if (this.followed && !(this.scene.camera && this.scene.camera.position)) this.fly({ target: this.followed.at });
  }

  followNow() {
    if (!this.followed) return;
    const at = originOf(this.world.actors[0].matrices[this.followed.body]);
    if (!Number.isFinite(norm(at))) return;
    this.camera.carry(subtract(at, this.followed.at));
    this.followed.at = at;
  }

  timeChanged() {
    this.moved = false;
    this.world.setTime(this.clock.time);
    this.transport.show();
    this.refresh();
  }

  setConfiguration(q) {
    this.clock.pause();
    this.moved = true;
    this.world.setConfiguration(q);
    if (this.panel instanceof JointPanel) this.panel.show();
    this.transport.show();
    this.refresh();
  }

  // ask for a picture; many asks before the next frame are one
  refresh() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame((now) => {
      this.waiting = false;
      const was = this.clock.playing, running = this.clock.advance(now);
      if (was) {
        this.moved = false;
        this.world.setTime(this.clock.time);
        this.transport.show();
      }
      const flying = this.camera.advance(now);
      this.draw();
      if (running || flying) this.refresh();
    });
  }

  draw() {
    this.followNow();
    const dark = this.interface.dark;
    if (this.renderer) this.renderer.draw(this.camera, this.options, dark);
    if (this.panel instanceof PlotPanel) this.panel.draw(this.clock.time, dark);
    this.interface.labels(this.labels(), this.camera.matrices(0.004 * this.world.size).viewProjection);
  }

  labels() {
    const { world, options } = this, list = [], actors = world.actors.filter((actor) => actor.visible);
    if (options.names && actors.length) {
      for (let b = 1; b < world.bodies; b++) {
        list.push({ text: this.scene.bodies[b].name, point: world.pointOf(actors[0], b, finiteList(this.scene.bodies[b].com, 3)) });
      }
    }
    for (const actor of world.actors.length > 1 ? actors : []) {
      const bounds = world.boundsOf([actor]);
      if (actor.ghost || bounds.empty) continue;
      list.push({ text: actor.name || `motion ${actor.index + 1}`, point: [bounds.centre[0], bounds.centre[1], bounds.high[2] + 0.06 * world.size], kind: "actor" });
    }
    if (this.chosen && this.chosen.actor.visible) {
      const { body, actor } = this.chosen, { name, mass, com } = this.scene.bodies[body];
      const text = body > 0 && mass > 0 ? `${name}  ·  ${readable(mass, 3)} kg` : name;
      list.push({ text, point: world.pointOf(actor, body, finiteList(com, 3)), kind: "chosen" });
    }
    return list;
  }

  savePicture() {
    if (!this.renderer) return;
    this.draw();
    const link = element("a");
    link.download = `${this.scene.title.replace(/[^\w-]+/g, "_") || "sixd"}.png`;
    link.href = this.canvas.toDataURL("image/png");
    link.click();
  }
}

// a server that shows configurations live: ask again as soon as it has answered
async function listen(app, address) {
  let version = -1, pause = 200;
  for (;;) {
    try {
      const answer = await fetch(`${address}?since=${version}`, { cache: "no-store" });
      if (answer.status !== 204 && !answer.ok) throw new Error(String(answer.status));
      const state = answer.status === 204 ? null : await answer.json();
      if (state && state.version !== version) {
        version = state.version;
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
const app = new App(scene, window.sixdKinematics);
window.sixd = {
  scene,
  options: app.options,
  camera: app.camera,
  play: () => { app.clock.play(); app.timeChanged(); },
  pause: () => { app.clock.pause(); app.timeChanged(); },
  seek: (time) => { app.clock.seek(time); app.timeChanged(); },
  step: (count) => app.transport.step(Math.sign(count), Math.abs(count)),
  setConfiguration: (q) => app.setConfiguration(q),
  view: (name) => app.view(name),
  draw: () => app.draw(),
  get time() { return app.clock.time; },
  get start() { return app.clock.start; },
  get end() { return app.clock.end; },
  get playing() { return app.clock.playing; },
  get configuration() { return Array.from(app.world.actors[0].q); },
  get frames() { return app.renderer ? app.renderer.frames : 0; },
  bodyPose: (name, actor = 0) => {
    const body = scene.bodies.findIndex((one) => one.name === name);
    return body < 0 ? null : Array.from(app.world.actors[actor].matrices[body]);
  },
  ready: new Promise((done) => requestAnimationFrame(() => { app.draw(); app.refresh(); done(true); })),
};
if (scene.live) listen(app, scene.live);
