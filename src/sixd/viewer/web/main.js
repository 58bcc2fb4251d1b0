// Puts the page together and draws it when something has changed.

const MOST_LABELS = 6; // motions with their names next to them
const NARROW = 0.9; // width by height of a picture: a camera position in the scene is assumed to be chosen for at least this
const CLOSER = 0.84; // a live page is seen from nearer: the corners of the box around a swinging mechanism are empty
const POINTED = 70; // [pixels] from the pointer to the middle of the motion it means

class App {
  constructor(scene, kinematics, simulation) {
    this.scene = scene;
    this.options = makeOptions(scene.settings);
    this.ownPanel = scene.settings.panel === undefined; // until the reader opens or closes it
    this.ownView = true; // until the reader moves the camera
    this.seen = null; // the stage's size in the last picture; none in a frame that is hidden, or not laid out yet
    this.world = new World(scene, kinematics, simulation);
    this.simulation = simulation;
    this.camera = new Camera();
    this.clock = simulation ? new LiveClock(simulation, this.options) : new Clock(this.world.start, this.world.end, this.options);
    this.canvas = document.getElementById("view");
    this.chosen = null;
    this.waiting = false;
    this.started = false;
    this.pace = new Pace();
    this.makePanels();
    this.interface = new Interface(this);
    this.startDrawing();
    new Controls(this.canvas, this.camera, {
      changed: () => { this.ownView = false; this.pace.touch(); this.refresh(); },
      refocus: (x, y) => this.refocus(x, y),
      picked: (x, y) => this.choose(this.world.pick(this.camera.ray(x, y))),
    }, simulation ? new Grip(this) : null);
    this.canvas.addEventListener("pointermove", (event) => { if (!event.buttons) this.point(this.nearest(event.offsetX, event.offsetY)); });
    this.canvas.addEventListener("pointerleave", () => this.point(null));
    this.options.onChange((name) => this.optionChanged(name));
    this.notices();
    new ResizeObserver(() => this.resize()).observe(document.getElementById("stage"));
    // a live page that is scrolled out of view rests
    this.visible = true;
    if (simulation) new IntersectionObserver(([entry]) => this.appear(entry.isIntersecting)).observe(this.canvas);
    if (Number.isFinite(scene.settings.time)) this.clock.seek(scene.settings.time);
    if (this.world.motions.length) this.world.setTime(this.clock.time);
    this.resize();
  }

  // called once the page has a size: a notebook's frame may be hidden, or of size 0, for a long time
  begin() {
    this.firstView();
    this.startFollowing();
    const calm = this.simulation && window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    if ((this.world.motions.length || this.simulation) && this.scene.settings.play !== false && !calm) this.clock.play();
    this.transport.show();
    this.refresh();
  }

  makePanels() {
    const { world } = this, dock = document.getElementById("dock");
    if (this.simulation) {
      this.transport = new LiveTransport(this.clock, this.simulation, this.options, () => this.timeChanged());
      this.panel = new LivePanel(dock, world, () => this.parametersChanged());
      dock.addEventListener("scroll", () => this.refresh());
      return;
    }
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
    this.canvas.addEventListener("webglcontextrestored", () => { this.renderer = new Renderer(gl, this.world); this.resize(); this.draw(); });
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
      const who = motion.name ? `“${isolated(motion.name)}”` : "The motion";
      const end = `${who} ends at t = ${readable(motion.end, 6)} s: after that its state is not finite.`;
      const none = `${who} has no finite state: there is nothing to play, the mechanism is shown at rest. Did the simulation fail at its start?`;
      this.interface.notice(motion.valid ? end : none, "warn");
    }
    if (this.scene.notes.length) this.interface.notice(this.scene.notes.slice(0, 6).join(" "));
  }

  resize() {
    const stage = document.getElementById("stage"), ratio = this.fineness() * this.pace.scale;
    if (!(stage.clientWidth > 0 && stage.clientHeight > 0)) return;
    this.choosePanel();
    const width = Math.max(Math.round(stage.clientWidth * ratio), 1), height = Math.max(Math.round(stage.clientHeight * ratio), 1);
    const same = this.canvas.width === width && this.canvas.height === height;
    if (!same) Object.assign(this.canvas, { width, height });
    this.camera.aspect = Math.max(stage.clientWidth, 1) / Math.max(stage.clientHeight, 1);
    // room for the tool bar above and a notice below; a live page has no notices at first
    const below = this.simulation ? 85 : 125;
    this.camera.margin = [clamp(1 - 60 / stage.clientWidth, 0.6, 0.9), clamp(1 - below / stage.clientHeight, 0.55, 0.88)];
    if (this.renderer) this.renderer.ratio = ratio;
    const size = `${stage.clientWidth} ${stage.clientHeight}`, first = this.seen === null, fits = this.ownView && this.seen !== size;
    this.seen = size;
    if (first) this.begin();
    else if (fits) this.fit();
    // draw at once: a resized canvas is blank
    if (!same && this.started) this.draw();
  }

  // the panel is open where there is room for it next to the picture, unless the reader or the scene says otherwise
  choosePanel() {
    if (!this.ownPanel) return;
    this.options.panel = window.innerWidth >= 860;
    this.ownPanel = true; // this was not chosen by the reader
  }

  fineness() {
    const ratio = window.devicePixelRatio || 1;
    return this.renderer ? this.renderer.fineness(ratio) : ratio;
  }

  firstView() {
    const camera = this.scene.camera;
    if (camera && camera.position) {
      this.camera.setUp(finiteList(camera.up || [0, 0, 1], 3));
      this.camera.place(finiteList(camera.position, 3), finiteList(camera.target, 3));
      this.given = this.camera.distance;
      this.fit();
    } else {
      // a flat mechanism is seen from its broad side, a field of many from above
      const [x, y] = subtract(this.world.room.high, this.world.room.low);
      const many = this.world.actors.filter((actor) => norm(actor.offset) > 0).length > 4;
      if (y < 0.3 * x) this.camera.azimuth = -1.22;
      else if (x < 0.3 * y) this.camera.azimuth = -0.35;
      if (Math.min(x, y) < 0.3 * Math.max(x, y)) this.camera.elevation = 0.2;
      if (many) this.camera.elevation = 0.55;
      this.camera.target = this.world.room.centre;
      this.fit();
    }
    if (camera && camera.track) this.options.follow = camera.track;
    // a mechanism that leaves the picture is followed, unless the scene has its own camera
    const free = this.scene.joints.find((joint) => String(joint.kind).toLowerCase() === "free");
    const leader = this.scene.bodies[free && this.scene.bodies[free.body] ? free.body : 1];
    if (!camera && this.world.leaves && leader) this.options.follow = leader.name;
  }

  // the distance at which all fits into the picture; a scene's own camera moves back if the picture is narrow
  fit() {
    const { camera } = this;
    const whole = (this.simulation && this.world.swings ? CLOSER : 1) * camera.distanceFor(this.world.room);
    camera.distance = this.given ? this.given * Math.max(1, NARROW / camera.aspect) : whole;
    if (camera.flight) camera.flight.from.distance = camera.flight.to.distance = camera.distance;
  }

  view(name) {
    this.ownView = false;
    const now = this.options.follow ? this.world.boundsOf() : this.world.room;
    const [azimuth, elevation] = VIEWS[name] || [this.camera.azimuth, this.camera.elevation];
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
    this.ownView = false;
    if (hit) this.fly({ target: hit.point, distance: Math.min(this.camera.distance, 3 * this.world.size) });
    else this.view(null);
  }

  choose(hit) {
    this.chosen = hit;
    this.refresh();
  }

  // the motion that the reader points at, in the picture or by its name
  point(actor) {
    if (this.pointed === actor) return;
    this.pointed = actor;
    if (this.world.actors.length > MOST_LABELS) this.refresh();
  }

  nearest(x, y) {
    const { viewProjection } = this.camera.matrices(0.004 * this.world.size), { clientWidth: width, clientHeight: height } = this.canvas;
    let found = null, least = POINTED;
    for (const actor of this.world.actors.length > MOST_LABELS ? this.world.actors : []) {
      const [px, py, , w] = project(viewProjection, this.world.boundsOf([actor]).centre);
      const away = Math.hypot(((px + 1) / 2) * width - x, ((1 - py) / 2) * height - y);
      if (actor.visible && w > 0 && away < least) [found, least] = [actor, away];
    }
    return found;
  }

  optionChanged(name) {
    if (name === "follow") this.startFollowing();
    if (name === "trails" && this.simulation) this.simulation.tracing = Boolean(this.options.trails);
    if (name === "panel") {
      this.ownPanel = false;
      this.resize();
    }
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
    this.world.setTime(this.clock.time);
    this.transport.show();
    this.refresh();
  }

  parametersChanged() {
    this.world.deform();
    // a mechanism that has grown is seen as a whole, while the reader has not moved the camera
    if (this.ownView && this.simulation.data.deformed.length) {
      this.world.boundsOf(this.world.actors, this.world.room);
      if (!this.given) this.camera.target = this.world.room.centre;
      this.fit();
    }
    this.timeChanged();
  }

  setConfiguration(q) {
    this.clock.pause();
    this.world.setConfiguration(q);
    if (this.panel instanceof JointPanel) this.panel.show();
    this.transport.show();
    this.refresh();
  }

  start() {
    this.started = true;
    this.draw();
    if (this.clock.playing || this.camera.flight) this.refresh();
  }

  // requests a picture; several requests before the next frame are one
  refresh() {
    if (this.waiting || !this.started || !this.visible) return;
    this.waiting = true;
    requestAnimationFrame((now) => {
      this.waiting = false;
      const was = this.clock.playing, running = this.clock.advance(now);
      if (was) {
        this.world.setTime(this.clock.time);
        this.transport.show();
        if (this.simulation && this.simulation.failed) this.fail();
      }
      const flying = this.camera.advance(now), moving = running || flying || this.pace.touched;
      if (this.pace.frame(now, moving)) this.resize();
      else this.draw();
      if (running || flying) this.refresh();
      else if (this.pace.scale < 1) this.settle();
    });
  }

  appear(visible) {
    this.visible = visible;
    if (visible) this.refresh();
  }

  fail() {
    const least = this.simulation.singularity(), fast = `the motion is too fast for steps of ${readable(1000 * this.simulation.h)} ms`;
    const singular = `singular coordinates, the inertia of one fell to ${readable(least, 1)} of that at the start. With a ball joint or a constraint instead there is no such place`;
    this.interface.notice(`At t = ${readable(this.clock.time, 5)} s the state is not finite any more: ${least === null ? fast : singular}. R or ▶ starts again.`, "warn");
  }

  // a picture in full resolution, once nothing moves
  settle() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => { if (!this.clock.playing && this.pace.rest()) this.resize(); }, 160);
  }

  // a picture in full resolution, now
  drawNow() {
    if (this.pace.rest()) this.resize();
    else this.draw();
  }

  draw() {
    if (this.seen === null) return;
    this.followNow();
    const dark = this.interface.dark;
    if (this.renderer) this.renderer.draw(this.camera, this.options, dark);
    if (this.panel instanceof PlotPanel || this.panel instanceof LivePanel) this.panel.draw(this.clock.time, dark);
    this.interface.labels(this.labels(), this.camera.matrices(0.004 * this.world.size).viewProjection);
  }

  labels() {
    const { world, options } = this, list = [], actors = world.actors.filter((actor) => actor.visible);
    if (options.names && actors.length) {
      for (let b = 1; b < world.bodies; b++) {
        list.push({ text: this.scene.bodies[b].name, point: world.pointOf(actors[0], b, finiteList(this.scene.bodies[b].com, 3)) });
      }
    }
    // a few motions have their names next to them; of many only the one that is pointed at or was clicked
    const count = world.actors.filter((actor) => !actor.ghost).length, pointed = [this.pointed, this.chosen && this.chosen.actor];
    for (const actor of count > MOST_LABELS ? actors.filter((one) => pointed.includes(one)) : count > 1 ? actors : []) {
      const bounds = world.boundsOf([actor]);
      if (actor.ghost || bounds.empty) continue;
      const above = [bounds.centre[0], bounds.centre[1], bounds.high[2] + 0.06 * world.size];
      list.push({ text: actor.name || `motion ${actor.index + 1}`, point: above, kind: "actor" });
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
    this.drawNow();
    const link = element("a");
    link.download = `${this.scene.title.replace(/[^\w-]+/g, "_") || "sixd"}.png`;
    link.href = this.canvas.toDataURL("image/png");
    link.click();
  }
}
