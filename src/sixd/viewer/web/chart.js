// One plot against time on a canvas: lines, ticks, a cursor at the current time. Knows only series of numbers.

const INKS = {
  light: ["#2f6bd0", "#dd7326", "#2a9461", "#b83a6b", "#7458c8", "#1892a6", "#a97f10", "#77604f", "#5b6b80", "#c2453d"],
  dark: ["#6ea2f5", "#f0965a", "#5cc492", "#e47aa2", "#a68ff0", "#5cc3d4", "#d6b04c", "#b79f8c", "#9aa9bd", "#ee8078"],
};
const MARGIN = { left: 46, right: 8, top: 8, bottom: 18 };

class Chart {
  // series: [{label, t, values, count, dash}]
  constructor(canvas, series, start, end) {
    Object.assign(this, { canvas, series, start, end });
    this.hidden = new Set();
  }

  // colours from a fixed list; beyond it hues a golden angle apart, so that the first ones differ most
  ink(index, dark) {
    const list = INKS[dark ? "dark" : "light"], own = this.series[index].ink ?? index;
    const count = Math.max(...this.series.map((one, i) => (one.ink ?? i) + 1));
    if (count <= list.length) return list[own];
    return `hsl(${((212 + 137.508 * own) % 360).toFixed(1)} ${own % 2 ? 58 : 72}% ${(dark ? 66 : 42) + (own % 3) * 6 - 6}%)`;
  }

  // the smallest and the largest value of the visible lines, null if there is none
  extremes() {
    let low = Infinity, high = -Infinity;
    this.series.forEach((one, i) => {
      if (this.hidden.has(i)) return;
      const [least, most] = extremesOf(one);
      low = Math.min(low, least);
      high = Math.max(high, most);
    });
    return low <= high ? [low, high] : null;
  }

  // the range of the vertical axis
  span() {
    const found = this.extremes();
    if (!found) return [-1, 1];
    const [low, high] = found;
    // a constant gets a margin, so that rounding errors are not magnified
    const least = 1e-6 * Math.max(Math.abs(low), Math.abs(high)) || 1;
    const room = Math.max(0.07 * (high - low), 0.5 * (least - (high - low)));
    return [low - room, high + room];
  }

  resize() {
    const width = this.canvas.clientWidth, height = this.canvas.clientHeight;
    // on very large screens the panel is magnified
    this.zoom = this.canvas.getBoundingClientRect().width / (width || 1) || 1;
    const ratio = Math.min((window.devicePixelRatio || 1) * this.zoom, 3);
    const w = Math.round(width * ratio), h = Math.round(height * ratio);
    if (this.canvas.width !== w || this.canvas.height !== h) Object.assign(this.canvas, { width: w, height: h });
    this.box = { x: MARGIN.left, y: MARGIN.top, w: width - MARGIN.left - MARGIN.right, h: height - MARGIN.top - MARGIN.bottom };
    return ratio;
  }

  // x in pixels of the screen from the left edge
  timeAt(x) {
    return clamp(this.start + ((x / this.zoom - this.box.x) / this.box.w) * (this.end - this.start), this.start, this.end);
  }

  xOf(t) { return this.box.x + ((t - this.start) / (this.end - this.start || 1)) * this.box.w; }

  draw(time, hover, dark) {
    const ratio = this.resize(), c = this.canvas.getContext("2d"), { x, y, w, h } = this.box;
    if (!(w > 20 && h > 20)) return;
    // the lines change only with size, theme and selection: keep them as an image and draw the cursor over it
    const key = `${this.canvas.width} ${this.canvas.height} ${dark} ${[...this.hidden]}`;
    if (this.key !== key) {
      this.key = key;
      this.still = Object.assign(document.createElement("canvas"), { width: this.canvas.width, height: this.canvas.height });
      this.drawStill(this.still.getContext("2d"), ratio, dark);
    }
    c.setTransform(1, 0, 0, 1, 0, 0);
    c.clearRect(0, 0, this.canvas.width, this.canvas.height);
    c.drawImage(this.still, 0, 0);
    if (this.empty) return;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    const cursor = (at, color, width) => {
      const px = this.xOf(at);
      c.strokeStyle = color;
      c.lineWidth = width;
      c.beginPath();
      c.moveTo(px, y);
      c.lineTo(px, y + h);
      c.stroke();
    };
    if (hover !== null) cursor(hover, dark ? "rgba(220,230,250,.35)" : "rgba(30,42,62,.3)", 1);
    cursor(time, dark ? "#e8ecf2" : "#1d2430", 1.2);
    this.dots(c, hover ?? time, dark);
  }

  dots(c, time, dark) {
    this.series.forEach((series, i) => {
      const value = valueAt(series, time);
      if (this.hidden.has(i) || !Number.isFinite(value) || this.series.length > 12) return;
      c.fillStyle = this.ink(i, dark);
      c.beginPath();
      c.arc(this.xOf(time), this.yOf(value), 2.6, 0, 7);
      c.fill();
    });
  }

  yOf(value) { return this.box.y + ((this.high - value) / (this.high - this.low)) * this.box.h; }

  drawStill(c, ratio, dark) {
    const { x, y, w, h } = this.box;
    [this.low, this.high] = this.span();
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.font = '10px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
    c.lineWidth = 1;
    this.empty = !this.series.some((one) => Number.isFinite(extremesOf(one)[0]));
    if (this.empty) {
      c.fillStyle = dark ? "#8a94a4" : "#7b8696";
      c.textAlign = "center";
      c.fillText("no data", x + w / 2, y + h / 2);
      return;
    }
    const faint = dark ? "rgba(220,230,250,.1)" : "rgba(30,42,62,.09)", text = dark ? "#8a94a4" : "#7b8696";
    for (const tick of ticks(this.low, this.high, h / 20)) {
      const py = Math.round(this.yOf(tick.value)) + 0.5;
      c.strokeStyle = faint;
      c.beginPath();
      c.moveTo(x, py);
      c.lineTo(x + w, py);
      c.stroke();
      c.fillStyle = text;
      c.textAlign = "right";
      c.textBaseline = "middle";
      c.fillText(tick.label, x - 5, py, MARGIN.left - 6);
    }
    c.textBaseline = "top";
    for (const tick of ticks(this.start, this.end, w / 60)) {
      const px = this.xOf(tick.value), half = c.measureText(tick.label).width / 2;
      c.textAlign = "left";
      c.fillText(tick.label, clamp(px - half, x - 4, x + w - 2 * half + 4), y + h + 5);
    }
    c.save();
    c.beginPath();
    c.rect(x, y - 2, w, h + 4);
    c.clip();
    for (let i = this.series.length - 1; i >= 0; i--) if (!this.hidden.has(i)) this.drawLine(c, i, dark);
    c.restore();
  }

  // with more records than pixels: from the lowest to the highest value in each pixel
  drawLine(c, index, dark) {
    const { t, values, count, dash } = this.series[index];
    c.strokeStyle = this.ink(index, dark);
    c.lineWidth = this.series.length > 8 ? 1.1 : 1.5;
    c.lineJoin = "round";
    c.setLineDash(dash || []);
    c.beginPath();
    const fine = count > 4 * this.box.w;
    let column = NaN, low = 0, high = 0, pen = false;
    for (let r = 0; r < count; r++) {
      const v = values[r];
      if (!Number.isFinite(v)) { pen = false; continue; }
      const px = this.xOf(t[r]), py = this.yOf(v);
      if (fine && Math.floor(px) === column) {
        low = Math.min(low, py);
        high = Math.max(high, py);
        continue;
      }
      if (fine && pen && high > low) { c.lineTo(column, low); c.lineTo(column, high); }
      if (pen) c.lineTo(px, py);
      else c.moveTo(px, py);
      pen = true;
      column = Math.floor(px);
      low = high = py;
    }
    c.stroke();
    c.setLineDash([]);
  }
}

// the smallest and the largest finite value of a series: Infinity and -Infinity if there is none
function extremesOf(series) {
  if (!series.extremes) {
    let low = Infinity, high = -Infinity;
    for (let r = 0; r < series.count; r++) {
      const y = series.values[r];
      if (!Number.isFinite(y)) continue;
      if (y < low) low = y;
      if (y > high) high = y;
    }
    series.extremes = [low, high];
  }
  return series.extremes;
}

// round numbers between low and high, approximately `about` of them
function ticks(low, high, about) {
  const raw = (high - low) / Math.max(about, 1.5);
  if (!(raw > 0) || !Number.isFinite(raw)) return [];
  const step = roundUp125(raw);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const list = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step && list.length < 60; k++) {
    const value = k * step, large = Math.abs(value) >= 1e5 || digits > 6;
    const label = value === 0 ? "0" : large ? value.toExponential(1) : value.toFixed(digits);
    list.push({ value, label: label.replace(/-/g, "−") });
  }
  return list;
}

// the value at a time, on the straight line between the records
function valueAt({ t, values, count }, time) {
  let low = 0, high = count - 1;
  if (high < 0 || time < t[0] || time > t[high] + 1e-9) return NaN;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (t[middle] <= time) low = middle;
    else high = middle;
  }
  const step = t[high] - t[low], s = step > 0 ? clamp((time - t[low]) / step, 0, 1) : 0;
  return values[low] + (s > 0 ? (values[high] - values[low]) * s : 0);
}
