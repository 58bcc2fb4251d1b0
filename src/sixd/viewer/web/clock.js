// The time of the motion: playing, pausing, starting over at the ends. Knows neither the page nor the picture.

class Clock {
  constructor(start, end, options) {
    Object.assign(this, { start, end, options });
    this.time = start;
    this.playing = false;
    this.before = null;
  }

  get length() { return this.end - this.start; }

  play() {
    if (!(this.length > 0)) return;
    // at the end, start over
    if (!this.options.reverse && this.time >= this.end) this.time = this.start;
    if (this.options.reverse && this.time <= this.start) this.time = this.end;
    this.playing = true;
    this.before = null;
  }

  pause() { this.playing = false; }

  seek(time) { this.time = clamp(finite(time, this.time), this.start, this.end); }

  // one frame of the screen, at `now` in milliseconds; true while it runs
  advance(now) {
    if (!this.playing) return false;
    // a page that was hidden for a while continues where it stopped
    const passed = this.before === null ? 0 : Math.min(Math.max(now - this.before, 0), 100) / 1000;
    this.before = now;
    this.time += passed * this.options.speed * (this.options.reverse ? -1 : 1);
    if (this.time >= this.start && this.time <= this.end) return true;
    if (this.options.loop) {
      const turned = (this.time - this.start) % this.length;
      this.time = this.start + (turned < 0 ? turned + this.length : turned);
      return true;
    }
    this.seek(this.time);
    this.playing = false;
    return false;
  }

  // steps to the next or the previous record of a motion
  step(times, count, direction) {
    this.pause();
    const tiny = 1e-9 * (Math.abs(this.end) + 1);
    let k = 0;
    if (direction > 0) {
      while (k < count && times[k] <= this.time + tiny) k++;
    } else {
      k = count - 1;
      while (k > 0 && times[k] >= this.time - tiny) k--;
    }
    if (count) this.seek(times[clamp(k, 0, count - 1)]);
  }
}
