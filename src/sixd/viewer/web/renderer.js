// Draws the world as a camera sees it. Order: background, bodies, markers, floor, transparent bodies, trails.

const THEMES = {
  light: {
    inner: [0.985, 0.988, 0.992], outer: [0.865, 0.885, 0.91], line: [0.28, 0.33, 0.42], shade: [0.10, 0.13, 0.20],
    key: [1.16, 1.12, 1.06], sky: [0.42, 0.44, 0.48], floor: [0.22, 0.215, 0.21], lines: 0.42, shadow: 0.34, contact: 0.30,
  },
  dark: {
    inner: [0.155, 0.170, 0.195], outer: [0.062, 0.068, 0.082], line: [0.62, 0.70, 0.82], shade: [0.0, 0.0, 0.01],
    key: [1.18, 1.13, 1.05], sky: [0.31, 0.35, 0.43], floor: [0.11, 0.11, 0.12], lines: 0.34, shadow: 0.62, contact: 0.5,
  },
};
const LEAST_RADIUS = 1.1; // [pixels of the screen] of rods
const LEAST_SHADOW = 0.003; // [size of the mechanism] radius of rods in the shadow map: some of its pixels
const CLEAR = 0.34; // opacity of transparent bodies

class Renderer {
  // null instead of a context means that the browser has no WebGL2
  static context(canvas) {
    return canvas.getContext("webgl2", { antialias: true, alpha: false, stencil: true, powerPreference: "high-performance" });
  }

  // pixels of the picture per pixel of the screen: a coarse screen gets a finer picture, if there is a graphics card
  static fineness(gl) {
    const details = gl.getExtension("WEBGL_debug_renderer_info");
    const name = details ? String(gl.getParameter(details.UNMASKED_RENDERER_WEBGL)) : "";
    const software = /swiftshader|llvmpipe|softpipe|software|basic render/i.test(name);
    return (ratio) => (software ? Math.min(ratio, 2) : ratio < 1.4 ? 1.5 * ratio : Math.min(ratio, 2));
  }

  constructor(gl, world) {
    this.gl = gl;
    this.world = world;
    this.fineness = Renderer.fineness(gl);
    this.body = new Program(gl, BODY_VERTEX, BODY_FRAGMENT);
    this.ground = new Program(gl, GROUND_VERTEX, GROUND_FRAGMENT);
    this.background = new Program(gl, SCREEN_VERTEX, BACKGROUND_FRAGMENT);
    this.line = new Program(gl, LINE_VERTEX, LINE_FRAGMENT);
    this.meshes = world.shapes.map((shape) => shape && (shape.line ? new Polyline(gl, shape.positions) : new Mesh(gl, shape)));
    this.units = Object.fromEntries(Object.entries(MARKER_SHAPES).map(([name, make]) => [name, new Mesh(gl, make())]));
    this.shadows = new Shadows(gl, world);
    this.trails = new Trails(gl, world);
    this.markers = new Markers(world);
    this.plain = gl.createVertexArray();
    this.frames = 0;
    gl.enable(gl.DEPTH_TEST);
    gl.depthFunc(gl.LEQUAL);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.vertexAttrib3f(2, 1, 1, 1);
  }

  // the bodies to draw: opaque ones, transparent ones, lines
  sort(options, eye) {
    const opaque = [], clear = [], lines = [];
    for (const actor of this.world.actors) {
      if (!actor.visible || options.bodies === "hidden") continue;
      const group = [];
      for (const item of actor.items) {
        if (!item.shown) continue;
        const mesh = this.meshes[item.geometry], color = [...item.color];
        if (item.touches && options.distances) color.splice(0, 3, ...linearColor(MARKER_COLORS.touch));
        if (options.bodies === "clear") color[3] *= CLEAR;
        const entry = { mesh, matrix: item.thin > 0 ? this.visible(item, eye) : item.matrix, casting: this.casting(item), color };
        if (mesh.line) lines.push(entry);
        else if (color[3] > 0.995) opaque.push(entry);
        else group.push(entry);
      }
      // an actor that is transparent as a whole is drawn as one, without its parts showing through each other
      if (actor.ghost || options.bodies === "clear") clear.push(group);
      else for (const entry of group) clear.push([entry]);
    }
    const far = (group) => (group.length ? norm(subtract(originOf(group[0].matrix), eye)) : 0);
    clear.sort((a, b) => far(b) - far(a));
    return { opaque, clear, lines };
  }

  // a rod thinner than two pixels is drawn as thick as that
  visible({ matrix, thin }, eye) {
    const pixel = (2 * HALF_HEIGHT * norm(subtract(originOf(matrix), eye))) / this.gl.drawingBufferHeight;
    return thickened(matrix, (LEAST_RADIUS * (this.ratio || 1) * pixel) / thin);
  }

  // its shadow, which does not depend on the camera, is drawn as thick as the shadow map can show
  casting({ matrix, thin }) {
    return thin > 0 ? thickened(matrix, (LEAST_SHADOW * this.world.size) / thin) : matrix;
  }

  draw(camera, options, dark) {
    const gl = this.gl, world = this.world, theme = dark ? THEMES.dark : THEMES.light;
    const { viewProjection } = camera.matrices(0.004 * world.size);
    const eye = camera.position, wire = options.bodies === "wire";
    const { opaque, clear, lines } = this.sort(options, eye);
    gl.disable(gl.BLEND);
    this.light = this.updateShadows(options, opaque, clear, wire);

    const width = gl.drawingBufferWidth, height = gl.drawingBufferHeight;
    gl.bindFramebuffer(gl.FRAMEBUFFER, null);
    gl.viewport(0, 0, width, height);
    gl.clear(gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
    gl.depthMask(false);
    gl.bindVertexArray(this.plain);
    this.background.use({ inner: theme.inner, outer: theme.outer, aspect: width / height });
    gl.drawArrays(gl.TRIANGLES, 0, 3);
    gl.depthMask(true);

    const shared = {
      viewProjection, eye, keyDirection: KEY_DIRECTION, keyColor: theme.key, skyColor: theme.sky, floorColor: theme.floor, ...this.light,
    };
    const markers = this.markers.list(options);
    const solid = markers.filter((item) => !item.alpha), glassy = markers.filter((item) => item.alpha);
    this.body.use(shared);
    if (wire) this.drawWire([...opaque, ...clear.flat()], dark);
    else for (const entry of opaque) this.put(entry);
    this.drawSolid(solid);

    gl.enable(gl.BLEND);
    this.drawGround(shared, camera, theme, options);
    this.line.use({ viewProjection, viewport: [width, height], tail: 0, count: 0 });
    this.drawLines(lines, width);
    this.body.use(shared);
    if (!wire) for (const group of clear) this.drawClear(group);
    if (options.trails) {
      this.line.use({ viewProjection, viewport: [width, height], width: 2.4 * this.ratio });
      gl.depthMask(false);
      this.trails.draw(this.line, options);
      gl.depthMask(true);
    }
    this.body.use(shared);
    this.drawHidden(solid);
    this.drawGlass(glassy);
    this.frames++;
  }

  updateShadows(options, opaque, clear, wire) {
    const gl = this.gl, casters = wire ? [] : [...opaque, ...(options.bodies === "clear" ? clear.flat() : [])];
    const on = options.shadows && casters.length > 0;
    if (on) this.shadows.update(casters.map(({ mesh, casting }) => ({ mesh, matrix: casting })), `${this.world.version} ${casters.length}`);
    gl.activeTexture(gl.TEXTURE0);
    gl.bindTexture(gl.TEXTURE_2D, this.shadows.map.texture);
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, this.shadows.near[0].texture);
    const { matrix, texel, offset, contactBox } = this.shadows;
    return {
      shadowMap: 0, contactMap: 1, shadowOn: on ? 1 : 0, shadowMatrix: matrix, shadowTexel: texel, shadowOffset: offset || 0, contactBox,
    };
  }

  put({ mesh, matrix, color, quarters = 0, glow = 0 }, alpha = color[3]) {
    this.body.set("model", matrix);
    this.body.set("color", [color[0], color[1], color[2], alpha]);
    this.body.set("quarters", quarters);
    this.body.set("glow", glow);
    (typeof mesh === "string" ? this.units[mesh] : mesh).draw();
  }

  drawWire(entries, dark) {
    const ink = linearColor(dark ? [0.7, 0.76, 0.85] : [0.2, 0.25, 0.34]);
    this.body.set("quarters", 0);
    this.body.set("glow", 1);
    this.gl.enable(this.gl.BLEND);
    for (const { mesh, matrix, color } of entries) {
      this.body.set("model", matrix);
      this.body.set("color", [...mixed(color.slice(0, 3), ink, 0.35), 0.55]);
      mesh.drawWire();
    }
    this.gl.disable(this.gl.BLEND);
  }

  // first only depth, then colour where it is nearest: an even transparent surface
  drawClear(group) {
    const gl = this.gl;
    // slightly behind, so that a body hides a ghost at the same pose
    gl.enable(gl.POLYGON_OFFSET_FILL);
    gl.polygonOffset(1, 2);
    gl.colorMask(false, false, false, false);
    for (const entry of group) this.put(entry);
    gl.colorMask(true, true, true, true);
    for (const entry of group) this.put(entry);
    gl.disable(gl.POLYGON_OFFSET_FILL);
  }

  // over everything, also through bodies that hide it
  drawGlass(items) {
    if (!items.length) return;
    const gl = this.gl;
    gl.clear(gl.DEPTH_BUFFER_BIT);
    for (const item of items) this.drawClear([{ ...item, color: [...item.color.slice(0, 3), item.alpha] }]);
  }

  // visible markers, remembered in the stencil
  drawSolid(items) {
    if (!items.length) return;
    const gl = this.gl;
    gl.enable(gl.STENCIL_TEST);
    gl.stencilFunc(gl.ALWAYS, 1, 255);
    gl.stencilOp(gl.KEEP, gl.KEEP, gl.REPLACE);
    for (const item of items) this.put(item);
    gl.disable(gl.STENCIL_TEST);
  }

  // markers inside bodies are drawn faintly, where no marker is visible
  drawHidden(items) {
    if (!items.length) return;
    const gl = this.gl;
    gl.depthMask(false);
    gl.depthFunc(gl.GREATER);
    gl.enable(gl.CULL_FACE);
    gl.enable(gl.STENCIL_TEST);
    gl.stencilFunc(gl.EQUAL, 0, 255);
    gl.stencilOp(gl.KEEP, gl.KEEP, gl.KEEP);
    for (const item of items) this.put(item, 0.5);
    gl.disable(gl.STENCIL_TEST);
    gl.disable(gl.CULL_FACE);
    gl.depthFunc(gl.LEQUAL);
    gl.depthMask(true);
  }

  drawLines(lines) {
    for (const { mesh, matrix, color } of lines) {
      this.line.set("model", matrix);
      this.line.set("width", 2 * this.ratio);
      this.line.set("color", [...color.slice(0, 3).map((c) => c ** (1 / 2.2)), color[3]]);
      mesh.draw();
    }
  }

  drawGround(shared, camera, theme, options) {
    const gl = this.gl, world = this.world, away = Math.max(camera.distance, 2 * world.room.radius, world.size);
    const cell = roundDown125(Math.max(world.size, camera.distance * 0.25) * 0.42);
    const common = {
      ...shared, lineColor: theme.line, shadeColor: theme.shade, cell, reach: 4 * away,
      shadowDepth: options.shadows && !this.shadows.empty ? theme.shadow : 0,
      contactDepth: this.light.shadowOn ? theme.contact : 0,
    };
    gl.depthMask(false);
    gl.bindVertexArray(this.plain);
    const sheet = (model, normal, more) => {
      const c = transformPoint(invertAffine(model), camera.target);
      this.ground.use({ ...common, model, normal, centre: [c[0], c[1]], ...more });
      gl.drawArrays(gl.TRIANGLE_STRIP, 0, 4);
    };
    const tile = (color) => [...finiteList(color, 3, 0.6), 0.3 * (color && color.length > 3 ? finite(color[3], 1) : 1)];
    const floor = world.plane && options.bodies !== "hidden";
    if (options.grid || floor || options.shadows) {
      const lines = options.grid ? (floor ? 0.2 : 1) * theme.lines : 0;
      const more = { lines, cross: world.originOnFloor ? 1 : 0, tile: floor ? tile(world.plane.color) : [0, 0, 0, 0] };
      sheet(translation([0, 0, world.ground]), [0, 0, 1], more);
    }
    world.scene.visuals.forEach((visual, k) => {
      const isPlane = world.scene.geometries[visual.geometry].kind === "plane";
      if (!isPlane || (world.plane && world.plane.visual === k) || options.bodies === "hidden") return;
      const model = multiply(world.actors[0].matrices[visual.body], world.poses[k]);
      sheet(model, [model[8], model[9], model[10]], { lines: 0, cross: 0, tile: tile(visual.color), contactDepth: 0 });
    });
    gl.depthMask(true);
  }
}

// a rod's matrix with its radius scaled by `grow`, if that is above 1 and plausible
function thickened(matrix, grow) {
  if (!(grow > 1 && grow < 1e3)) return matrix;
  const thick = matrix.slice();
  for (const k of [0, 1, 2, 4, 5, 6]) thick[k] *= grow;
  return thick;
}
