// Mouse, wheel and touch on the picture: one finger or the left button rotates, two fingers or another button move, wheel and pinch zoom.
// In a live page one finger or the left button on a body pulls it.

class Controls {
  constructor(canvas, camera, { changed, refocus, picked }, grip = null) {
    Object.assign(this, { canvas, camera, changed, refocus, picked, grip });
    this.pointers = new Map();
    this.moved = 0;
    canvas.addEventListener("pointerdown", (event) => this.down(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    for (const kind of ["pointerup", "pointercancel"]) canvas.addEventListener(kind, (event) => this.up(event));
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    if (grip && window.parent !== window) this.share();
    canvas.addEventListener("contextmenu", (event) => event.preventDefault());
    canvas.addEventListener("dblclick", (event) => this.refocus(...this.place(event)));
  }

  // -1..1 across the picture, y up
  place(event) {
    const box = this.canvas.getBoundingClientRect();
    return [((event.clientX - box.left) / box.width) * 2 - 1, 1 - ((event.clientY - box.top) / box.height) * 2];
  }

  // in a frame of another page that page scrolls: by a finger that does not touch a body, and by the wheel until the frame is clicked
  share() {
    this.asleep = true;
    this.canvas.style.touchAction = "pan-y";
    window.addEventListener("blur", () => (this.asleep = true));
    const onBody = (touch) => this.grip.find(...this.place(touch), "touch") !== null;
    this.canvas.addEventListener("touchstart", (event) => { if (event.touches.length > 1 || onBody(event.touches[0])) event.preventDefault(); }, { passive: false });
  }

  down(event) {
    this.asleep = false;
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY, button: event.button, shift: event.shiftKey || event.ctrlKey });
    this.moved = 0;
    if (this.grip && this.grip.pointer !== null) this.release(this.grip.pointer); // a second finger moves the camera
    else if (this.grip && event.button === 0 && !event.shiftKey && !event.ctrlKey && this.pointers.size === 1) this.grip.grab(...this.place(event), event);
    this.canvas.focus({ preventScroll: true });
    event.preventDefault();
  }

  up(event) {
    const known = this.pointers.delete(event.pointerId);
    this.release(event.pointerId);
    if (known && event.type === "pointerup" && event.button === 0 && this.moved < 4) this.picked(...this.place(event));
  }

  release(pointer) {
    if (this.grip && this.grip.pointer === pointer) this.grip.drop();
  }

  move(event) {
    const pointer = this.pointers.get(event.pointerId);
    if (!pointer) return this.hover(event);
    if (this.grip && this.grip.pointer === event.pointerId) {
      this.moved += Math.abs(event.movementX) + Math.abs(event.movementY);
      return this.grip.drag(...this.place(event));
    }
    const height = this.canvas.clientHeight || 1;
    const before = this.spread();
    const dx = event.clientX - pointer.x, dy = event.clientY - pointer.y;
    pointer.x = event.clientX;
    pointer.y = event.clientY;
    this.moved += Math.abs(dx) + Math.abs(dy);
    if (this.pointers.size > 1) {
      const after = this.spread();
      this.camera.pan(dx / height / this.pointers.size, dy / height / this.pointers.size);
      if (before > 0 && after > 0) this.camera.zoom(before / after);
    } else if (pointer.button !== 0 || pointer.shift) this.camera.pan(dx / height, dy / height);
    else this.camera.orbit((dx / height) * 4, (dy / height) * 4);
    this.changed();
  }

  // the cursor says whether a body would be grabbed
  hover(event) {
    if (!this.grip || event.timeStamp - (this.hovered || 0) < 40) return;
    this.hovered = event.timeStamp;
    this.canvas.classList.toggle("over", this.grip.find(...this.place(event), "mouse") !== null);
  }

  spread() {
    const [a, b] = [...this.pointers.values()];
    return a && b ? Math.hypot(a.x - b.x, a.y - b.y) : 0;
  }

  wheel(event) {
    if (this.asleep) return;
    event.preventDefault();
    // lines and pages as pixels; a pinch on a touch pad is a wheel event with ctrl
    const pixels = event.deltaY * [1, 16, 200][event.deltaMode || 0] * (event.ctrlKey ? 6 : 1);
    this.camera.zoom(Math.exp(clamp(pixels, -400, 400) * 0.0012), ...this.place(event));
    this.changed();
  }
}
