// The bar below the picture: play, pause, step, scrub, speed, loop, backwards, and the time as a number.

const SPEEDS = [0.1, 0.2, 0.5, 1, 2, 5, 10];

class Transport {
  // changed() is called when the time or the state of playing changes
  constructor(clock, motions, options, changed) {
    Object.assign(this, { clock, options, changed });
    this.bar = document.getElementById("transport");
    if (!motions.length) return;
    this.bar.hidden = false;
    // steps go through the records of the longest motion
    this.main = motions.reduce((best, motion) => (motion.valid > best.valid ? motion : best));
    const get = (id) => document.getElementById(id);
    Object.assign(this, { button: get("t-play"), scrub: get("t-scrub"), speed: get("t-speed"), read: get("t-time") });
    const use = this.button.querySelector("use");
    this.icon = (name) => use.setAttribute("href", `#i-${name}`);
    this.button.onclick = () => this.toggle();
    get("t-back").onclick = () => this.step(-1);
    get("t-forward").onclick = () => this.step(1);
    get("t-loop").onclick = () => (options.loop = !options.loop);
    get("t-reverse").onclick = () => (options.reverse = !options.reverse);
    this.scrub.oninput = () => this.seek(clock.start + this.scrub.valueAsNumber * clock.length);
    this.speed.onchange = () => (options.speed = finite(this.speed.value, 1));
    options.onChange(() => this.show());
    this.digits = clock.length >= 100 ? 2 : clock.length >= 0.5 ? 3 : 5;
    this.show();
  }

  toggle() {
    if (this.clock.playing) this.clock.pause();
    else this.clock.play();
    this.changed();
  }

  seek(time) {
    this.clock.seek(time);
    this.changed();
  }

  step(direction, times = 1) {
    if (!this.main) return;
    for (let i = 0; i < times; i++) this.clock.step(this.main.t, this.main.valid, direction);
    this.changed();
  }

  // selects the neighbouring speed of the list
  shift(direction) {
    const better = SPEEDS.filter((s) => (s - this.options.speed) * direction > 1e-9);
    if (better.length) this.options.speed = direction > 0 ? better[0] : better[better.length - 1];
  }

  show() {
    if (!this.main) return;
    const { clock, options } = this;
    const fraction = clock.length > 0 ? (clock.time - clock.start) / clock.length : 0;
    this.scrub.value = String(fraction);
    this.scrub.style.setProperty("--done", `${100 * fraction}%`);
    const figure = (x) => x.toFixed(this.digits).replace("-", "−");
    this.scrub.setAttribute("aria-valuetext", `${figure(clock.time)} seconds`);
    const bold = document.createElement("b"), rest = document.createElement("small");
    bold.textContent = figure(clock.time);
    rest.textContent = ` / ${figure(clock.end)} s`;
    this.read.replaceChildren(bold, rest);
    this.icon(clock.playing ? "pause" : "play");
    this.button.setAttribute("aria-label", clock.playing ? "Pause" : "Play");
    document.getElementById("t-loop").setAttribute("aria-pressed", options.loop);
    document.getElementById("t-reverse").setAttribute("aria-pressed", options.reverse);
    if (this.shownSpeed !== options.speed) {
      this.shownSpeed = options.speed;
      const list = [...new Set([...SPEEDS, options.speed])].sort((a, b) => a - b);
      this.speed.replaceChildren(...list.map((s) => new Option(`${s}×`, s, false, s === options.speed)));
    }
  }
}
