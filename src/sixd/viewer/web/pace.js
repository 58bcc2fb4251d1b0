// Keeps motion smooth on slow machines: fewer pixels during motion, all of them at rest.

const SLOW = 55, FAST = 22; // [ms] a frame: coarser above, finer below

class Pace {
  constructor() {
    this.scale = 1; // of the pixels along each side
    this.learned = 1; // the scale that was good during the last motion
    this.mean = 16;
    this.before = null;
    this.last = -Infinity;
  }

  // the reader is turning the picture by hand
  touch() { this.last = performance.now(); }

  get touched() { return performance.now() - this.last < 120; }

  // called after each frame; true if the scale has changed
  frame(now, moving) {
    const passed = this.before === null ? null : now - this.before, was = this.scale;
    this.before = moving ? now : null;
    if (!moving) return false;
    this.scale = this.learned;
    // a gap of half a second is not a slow frame: the page was inactive
    if (passed !== null && passed < 500) this.mean += 0.25 * (passed - this.mean);
    if (this.mean > SLOW && this.scale > 0.5) this.learn(Math.max(0.5, this.scale * 0.8));
    else if (this.mean < FAST && this.scale < 1) this.learn(Math.min(1, this.scale * 1.1));
    return this.scale !== was;
  }

  learn(scale) {
    this.scale = this.learned = scale;
    this.mean = (SLOW + FAST) / 2;
  }

  // back to all pixels; true if they were fewer
  rest() {
    const was = this.scale;
    this.scale = 1;
    return was !== 1;
  }
}
