// Two maps for shadows: the key light's depth map, and the nearness of bodies to the floor seen from below.

const KEY_DIRECTION = unit([0.45, -0.62, 1.15]); // towards the light
const CONTACT_SIZE = 256;

class Shadows {
  constructor(gl, world) {
    this.gl = gl;
    this.world = world;
    // several actors share the map: give them more of it
    const wanted = world.actors.length > 2 ? 2048 : 1024;
    this.map = makeTarget(gl, Math.min(wanted, gl.getParameter(gl.MAX_TEXTURE_SIZE)), "depth");
    this.near = [makeTarget(gl, CONTACT_SIZE, "color"), makeTarget(gl, CONTACT_SIZE, "color")];
    this.depth = new Program(gl, DEPTH_VERTEX, DEPTH_FRAGMENT);
    this.contact = new Program(gl, DEPTH_VERTEX, CONTACT_FRAGMENT);
    this.blur = new Program(gl, SCREEN_VERTEX, BLUR_FRAGMENT);
    this.matrix = identity();
    this.texel = 0;
    this.contactBox = [0, 0, 1, 1];
    this.version = -1;
  }

  // draws both maps again if something moved; `casters`: [{mesh, matrix}]
  update(casters, key) {
    if (this.version === key) return;
    this.version = key;
    const bounds = new Bounds();
    for (const { mesh, matrix } of casters) bounds.addBox(matrix, mesh.bounds);
    this.empty = bounds.empty;
    if (this.empty) return;
    this.drawKey(casters, bounds);
    this.drawContact(casters, bounds);
    this.gl.bindFramebuffer(this.gl.FRAMEBUFFER, null);
  }

  // the map is fitted to the bodies that cast shadows, in steps and at whole pixels, so that edges do not crawl
  drawKey(casters, bounds) {
    const gl = this.gl, view = lookAt(KEY_DIRECTION, [0, 0, 0], [0, 0, 1]), seen = new Bounds();
    for (const corner of bounds.corners()) {
      seen.add(transformPoint(view, corner));
      // include the shadow on the floor in the depth range
      const drop = Math.max(corner[2] - this.world.ground, 0) / KEY_DIRECTION[2];
      seen.add(transformPoint(view, subtract(corner, scaled(KEY_DIRECTION, drop))));
    }
    const step = this.world.size / 4;
    const span = [0, 1].map((i) => Math.ceil(((seen.high[i] - seen.low[i]) * 1.06) / step + 0.01) * step);
    const texels = span.map((s) => s / this.map.size);
    const middle = seen.centre.map((c, i) => (i < 2 ? Math.round(c / texels[i]) * texels[i] : c));
    const margin = 0.05 * this.world.size;
    const low = [middle[0] - span[0] / 2, middle[1] - span[1] / 2, seen.low[2] - margin];
    const high = [middle[0] + span[0] / 2, middle[1] + span[1] / 2, seen.high[2] + margin];
    this.matrix = multiply(orthographic(low, high), view);
    this.texel = 1 / this.map.size;
    this.offset = 1.8 * Math.max(...texels);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.map.frame);
    gl.viewport(0, 0, this.map.size, this.map.size);
    gl.clear(gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.POLYGON_OFFSET_FILL);
    gl.polygonOffset(1.5, 3);
    this.depth.use({ viewProjection: this.matrix });
    for (const { mesh, matrix } of casters) {
      this.depth.set("model", matrix);
      mesh.draw();
    }
    gl.disable(gl.POLYGON_OFFSET_FILL);
  }

  drawContact(casters, bounds) {
    const gl = this.gl, size = this.world.size, ground = this.world.ground;
    const reach = 0.1 * size, margin = 0.6 * size;
    const low = [bounds.low[0] - margin, bounds.low[1] - margin], span = [0, 1].map((i) => bounds.high[i] - bounds.low[i] + 2 * margin);
    this.contactBox = [...low, ...span];
    // looking up: x and y unchanged, depth grows with height
    const top = bounds.high[2] + size, bottom = Math.min(ground, bounds.low[2]) - 0.01 * size;
    const flip = new Float32Array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1, 0, 0, 0, 0, 1]);
    const box = orthographic([low[0], low[1], -top], [low[0] + span[0], low[1] + span[1], -bottom]);
    gl.bindFramebuffer(gl.FRAMEBUFFER, this.near[0].frame);
    gl.viewport(0, 0, CONTACT_SIZE, CONTACT_SIZE);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    this.contact.use({ viewProjection: multiply(box, flip), ground, reach });
    for (const { mesh, matrix } of casters) {
      this.contact.set("model", matrix);
      mesh.draw();
    }
    // blurred over a tenth of the mechanism, across and along
    gl.disable(gl.DEPTH_TEST);
    gl.bindVertexArray(null);
    const width = 0.018 * size;
    for (const [from, to, direction] of [[0, 1, [width / span[0], 0]], [1, 0, [0, width / span[1]]]]) {
      gl.bindFramebuffer(gl.FRAMEBUFFER, this.near[to].frame);
      gl.activeTexture(gl.TEXTURE0);
      gl.bindTexture(gl.TEXTURE_2D, this.near[from].texture);
      this.blur.use({ source: 0, direction });
      gl.drawArrays(gl.TRIANGLES, 0, 3);
    }
    gl.enable(gl.DEPTH_TEST);
  }
}
