// The controls around the picture: tool bar, menus, notices, labels, keys, theme. Talks to the rest through `app`.

const SWITCHES = [
  ["grid", "Grid", "G"], ["shadows", "Shadows", "S"], ["frames", "Frames", "F"], ["axes", "Joint axes", "J"],
  ["com", "Centres of mass", "C"], ["inertia", "Inertia ellipsoids", "I"], ["contacts", "Contact forces", "K"],
  ["distances", "Nearest points", "D"],
  ["trails", "Trails", "T"], ["names", "Names", "N"], ["reactions", "Forces in joints", "A"], ["momentum", "Momentum", "M"],
];

class Interface {
  constructor(app) {
    this.app = app;
    this.get = (id) => document.getElementById(id);
    this.heading();
    this.cameraMenu();
    this.displayMenu();
    this.tools();
    this.theme();
    document.addEventListener("keydown", (event) => this.key(event));
    // a button that was clicked gives the keyboard back to the picture
    document.addEventListener("click", (event) => {
      const button = event.target.closest && event.target.closest("button");
      if (button && event.detail > 0) button.blur();
    });
    document.addEventListener("pointerdown", (event) => {
      if (!event.target.closest(".menu, #toolbar")) this.closeMenus();
    });
    app.options.onChange(() => this.show());
    this.show();
  }

  heading() {
    const { world, scene } = this.app, count = scene.nq;
    this.get("title").textContent = scene.title;
    const facts = [`${world.bodies - 1} ${world.bodies === 2 ? "body" : "bodies"}`, `${count} coordinate${count === 1 ? "" : "s"}`];
    if (world.simulation) facts.push(`steps of ${readable(1000 * world.simulation.h)} ms`);
    else if (world.motions.length) facts.push(`${readable(world.end - world.start, 3)} s`);
    this.get("caption").textContent = facts.join(" · ");
    if (world.actors.length < 2) return;
    const tinted = world.actors.some((actor) => actor.color);
    for (const actor of world.actors) {
      const chip = element("button", "chip"), dot = element("i");
      dot.style.background = cssColor(actor.color || (tinted ? [0.55, 0.58, 0.62] : TRAIL_COLORS[actor.index % TRAIL_COLORS.length]));
      chip.append(dot, element("b", "", actor.name || `motion ${actor.index + 1}`));
      chip.setAttribute("aria-pressed", "true");
      chip.onclick = () => {
        actor.visible = !actor.visible;
        chip.setAttribute("aria-pressed", String(actor.visible));
        world.version++;
        this.app.refresh();
      };
      chip.onpointerenter = () => this.app.point(actor);
      chip.onpointerleave = () => this.app.point(null);
      this.get("actors").append(chip);
    }
  }

  segments(entries, chosen) {
    const box = element("div", "segments");
    for (const [value, label] of entries) {
      const button = element("button", "", label);
      button.dataset.value = value;
      button.onclick = () => chosen(value);
      box.append(button);
    }
    return box;
  }

  cameraMenu() {
    const { app } = this, menu = this.get("m-camera");
    const views = this.segments([["front", "Front"], ["side", "Side"], ["top", "Top"], ["iso", "3/4"]], (view) => app.view(view));
    const fit = element("button", "text", "See everything");
    fit.onclick = () => app.view(null);
    const follow = element("select");
    follow.id = "c-follow";
    follow.setAttribute("aria-label", "Body that the camera follows");
    follow.append(new Option("nothing", ""), ...app.scene.bodies.slice(1).map((body) => new Option(body.name, body.name)));
    follow.onchange = () => (app.options.follow = follow.value);
    const row = element("div", "row");
    row.append(follow);
    const gap = element("div", "row");
    gap.append(fit);
    menu.append(element("h3", "", "View from"), views, gap, element("h3", "", "Follow"), row);
    this.follow = follow;
  }

  displayMenu() {
    const { app } = this, menu = this.get("m-display"), { options, world } = app;
    this.bodies = this.segments([["solid", "Solid"], ["clear", "Clear"], ["wire", "Wire"], ["hidden", "None"]], (v) => (options.bodies = v));
    menu.append(element("h3", "", "Bodies"), this.bodies, element("h3", "", "Show"));
    const missing = {
      contacts: !world.motions.some((motion) => motion.contacts) && !(world.simulation && world.simulation.contacts), trails: !world.motions.length && !world.simulation,
      inertia: !app.scene.bodies.some((body) => body.ellipsoid), com: !app.scene.bodies.some((body) => body.mass > 0), axes: !app.scene.joints.length,
      distances: !world.actors.some((actor) => actor.pairs),
    };
    if (!world.simulation) [missing.reactions, missing.momentum] = [true, true];
    else [missing.reactions, missing.momentum] = [!world.simulation.programs.react, !("momentum" in world.simulation.observedAt)];
    this.switches = SWITCHES.map(([name, label, key]) => {
      const row = element("label", missing[name] ? "switch off" : "switch"), input = element("input");
      Object.assign(input, { type: "checkbox", disabled: Boolean(missing[name]), id: `s-${name}` });
      input.onchange = () => (options[name] = input.checked);
      row.append(element("span", "", label), element("kbd", "", key), input);
      menu.append(row);
      return [name, input];
    });
    if (missing.trails) return;
    if (world.simulation) return;
    this.trailKind = this.segments([["origin", "Origins"], ["com", "Centres of mass"]], (v) => (options.trails = v));
    this.trailBody = element("select");
    this.trailBody.setAttribute("aria-label", "Body whose trail is shown");
    this.trailBody.append(new Option("of every body", ""), ...app.scene.bodies.slice(1).map((b) => new Option(`of ${b.name}`, b.name)));
    this.trailBody.onchange = () => (options.trailBody = this.trailBody.value);
    const row = element("div", "row");
    row.append(this.trailBody);
    menu.append(element("h3", "", "Trails"), this.trailKind, row);
  }

  tools() {
    const { app } = this, menus = { "b-camera": "m-camera", "b-display": "m-display" };
    for (const [button, menu] of Object.entries(menus)) {
      this.get(button).onclick = () => {
        const open = this.get(menu).hidden;
        this.closeMenus();
        this.get(menu).hidden = !open;
        this.get(button).setAttribute("aria-expanded", String(open));
      };
    }
    this.get("b-panel").hidden = !app.panel;
    if (app.panel instanceof JointPanel) this.get("b-panel").querySelector("use").setAttribute("href", "#i-joints");
    this.get("b-panel").onclick = () => (app.options.panel = !app.options.panel);
    this.get("b-theme").onclick = () => (app.options.theme = this.dark ? "light" : "dark");
    this.get("b-help").onclick = () => this.get("help").showModal();
    this.get("b-picture").onclick = () => app.savePicture();
  }

  closeMenus() {
    for (const name of ["camera", "display"]) {
      this.get(`m-${name}`).hidden = true;
      this.get(`b-${name}`).setAttribute("aria-expanded", "false");
    }
  }

  // the system's theme, or that of a page around this one, which sends {sixd: "dark"} or {sixd: "light"}
  theme() {
    window.addEventListener("message", ({ data }) => {
      if (data && CHOICES.theme.includes(data.sixd)) this.app.options.theme = data.sixd;
    });
    this.system = window.matchMedia("(prefers-color-scheme: dark)");
    this.system.addEventListener("change", () => this.show());
  }

  get dark() {
    const { theme } = this.app.options;
    return theme ? theme === "dark" : this.system.matches;
  }

  // updates every control from the options
  show() {
    const { options, panel } = this.app;
    document.documentElement.dataset.theme = this.dark ? "dark" : "light";
    for (const [name, input] of this.switches) input.checked = Boolean(options[name]) && !input.disabled;
    const press = (box, value) => [...box.children].forEach((b) => b.setAttribute("aria-pressed", String(b.dataset.value === String(value))));
    press(this.bodies, options.bodies);
    if (this.trailKind) press(this.trailKind, options.trails);
    if (this.trailBody) this.trailBody.value = options.trailBody;
    this.follow.value = options.follow;
    this.get("dock").hidden = !(panel && options.panel);
    this.get("b-panel").setAttribute("aria-pressed", String(options.panel));
    this.app.refresh();
  }

  notice(text, kind = "") {
    const box = element("div", `notice ${kind}`), close = element("button", "", "×");
    close.setAttribute("aria-label", "Dismiss");
    close.onclick = () => box.remove();
    box.append(element("span", "", text), close);
    this.get("notices").append(box);
  }

  key(event) {
    const { app } = this, { options, transport } = app, at = event.target;
    if (event.ctrlKey || event.metaKey || event.altKey || this.get("help").open) return;
    const typing = at.matches && at.matches("select, input:not(#t-scrub, [type=checkbox])");
    const pauses = event.key === " " && at.matches && at.matches("[type=range]");
    if (typing && event.key !== "Escape" && !pauses) return;
    const name = (SWITCHES.find(([, , key]) => key === event.key.toUpperCase()) || [])[0];
    const times = event.shiftKey ? 10 : 1;
    const actions = {
      " ": () => (at.matches && at.matches("button") ? false : transport.toggle()),
      ArrowLeft: () => transport.step(-1, times), ArrowRight: () => transport.step(1, times),
      Home: () => transport.seek(app.clock.start), End: () => transport.seek(app.clock.end),
      "+": () => transport.shift(1), "=": () => transport.shift(1), "-": () => transport.shift(-1), "−": () => transport.shift(-1),
      l: () => (options.loop = !options.loop), r: () => (app.simulation ? transport.seek() : (options.reverse = !options.reverse)),
      1: () => app.view("front"), 2: () => app.view("side"), 3: () => app.view("top"), 4: () => app.view("iso"), 0: () => app.view(null),
      b: () => (options.bodies = CHOICES.bodies[(CHOICES.bodies.indexOf(options.bodies) + 1) % 4]),
      p: () => (options.panel = !options.panel), d: () => (options.theme = this.dark ? "light" : "dark"),
      "?": () => this.get("help").showModal(), Escape: () => { this.closeMenus(); app.choose(null); },
    };
    const action = name ? () => this.toggle(name) : actions[event.key] || actions[event.key.toLowerCase()];
    if (action && action() !== false) event.preventDefault();
  }

  toggle(name) {
    const [, input] = this.switches.find(([key]) => key === name);
    if (!input.disabled) this.app.options[name] = !this.app.options[name];
  }

  // shows texts at points of the picture: [{text, point, kind}]; of two that overlap the nearer one stays
  labels(list, viewProjection) {
    const box = this.get("labels"), { clientWidth: width, clientHeight: height } = box, placed = [];
    const seen = list.map(({ text, point, kind = "" }) => {
      const [x, y, , w] = project(viewProjection, point);
      return { text, kind, w, x: ((x + 1) / 2) * width, y: ((1 - y) / 2) * height, half: 3.4 * text.length + 8 };
    });
    const shown = seen.filter(({ x, y, w }) => w > 0 && x > 0 && x < width && y > 16 && y < height);
    shown.sort((a, b) => (b.kind ? 1 : 0) - (a.kind ? 1 : 0) || a.w - b.w);
    for (const one of shown) {
      const free = placed.every((p) => Math.abs(p.y - one.y) > 19 || Math.abs(p.x - one.x) > p.half + one.half);
      if (free || one.kind === "chosen") placed.push(one);
    }
    while (box.children.length > placed.length) box.lastChild.remove();
    while (box.children.length < placed.length) box.append(element("span"));
    placed.forEach(({ text, kind, x, y }, i) => {
      const span = box.children[i];
      if (span.textContent !== text) span.textContent = text;
      if (span.className !== kind) span.className = kind;
      span.style.transform = `translate(${x}px, ${y}px) translate(-50%, -130%)`;
    });
  }
}

function project(m, p) {
  const row = (r) => m[r] * p[0] + m[4 + r] * p[1] + m[8 + r] * p[2] + m[12 + r];
  const w = row(3);
  return [row(0) / w, row(1) / w, row(2) / w, w];
}

function cssColor(color) {
  return `rgb(${finiteList(color, 3, 0.5).map((x) => Math.round(255 * clamp(x, 0, 1))).join(" ")})`;
}
