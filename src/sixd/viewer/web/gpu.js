// The graphics card: programs, buffers, targets. Thin wrappers that know WebGL2 and nothing of the scene.

class Program {
  constructor(gl, vertex, fragment) {
    this.gl = gl;
    this.handle = gl.createProgram();
    for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS) && !gl.isContextLost()) {
        throw new Error(`shader: ${gl.getShaderInfoLog(shader)}`);
      }
      gl.attachShader(this.handle, shader);
    }
    gl.linkProgram(this.handle);
    if (!gl.getProgramParameter(this.handle, gl.LINK_STATUS) && !gl.isContextLost()) {
      throw new Error(`program: ${gl.getProgramInfoLog(this.handle)}`);
    }
    this.places = new Map();
    const count = gl.getProgramParameter(this.handle, gl.ACTIVE_UNIFORMS) || 0;
    for (let i = 0; i < count; i++) {
      const { name, type } = gl.getActiveUniform(this.handle, i);
      this.places.set(name, [gl.getUniformLocation(this.handle, name), type]);
    }
  }

  use(uniforms = {}) {
    this.gl.useProgram(this.handle);
    for (const name in uniforms) this.set(name, uniforms[name]);
    return this;
  }

  // sets a uniform by name; one that the program does not use is ignored
  set(name, value) {
    const entry = this.places.get(name);
    if (!entry) return;
    const gl = this.gl, [place, type] = entry;
    if (type === gl.FLOAT) gl.uniform1f(place, value);
    else if (type === gl.FLOAT_VEC2) gl.uniform2fv(place, value);
    else if (type === gl.FLOAT_VEC3) gl.uniform3fv(place, value);
    else if (type === gl.FLOAT_VEC4) gl.uniform4fv(place, value);
    else if (type === gl.FLOAT_MAT4) gl.uniformMatrix4fv(place, false, value);
    else gl.uniform1i(place, value);
  }
}

// the triangles of one geometry: one vertex buffer, its indices, and (made on first use) its edges
class Mesh {
  constructor(gl, shape) {
    this.gl = gl;
    this.positions = Float32Array.from(shape.positions);
    this.indices = Uint32Array.from(shape.indices);
    this.array = gl.createVertexArray();
    gl.bindVertexArray(this.array);
    const colors = shape.colors ? 3 : 0, vertices = this.positions.length / 3, stride = 24 + (colors ? 4 : 0);
    const data = new DataView(new ArrayBuffer(vertices * stride));
    for (let v = 0; v < vertices; v++) {
      for (let c = 0; c < 3; c++) {
        data.setFloat32(v * stride + 4 * c, this.positions[3 * v + c], true);
        data.setFloat32(v * stride + 12 + 4 * c, shape.normals[3 * v + c], true);
        if (colors) data.setUint8(v * stride + 24 + c, shape.colors[3 * v + c]);
      }
    }
    this.vertices = buffer(gl, gl.ARRAY_BUFFER, data);
    this.describe(stride, colors);
    buffer(gl, gl.ELEMENT_ARRAY_BUFFER, this.indices);
    gl.bindVertexArray(null);
    this.layout = [stride, colors];
    this.wire = null;
    this.bounds = boundsOf(this.positions);
  }

  describe(stride, colors) {
    const gl = this.gl;
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 3, gl.FLOAT, false, stride, 0);
    gl.enableVertexAttribArray(1);
    gl.vertexAttribPointer(1, 3, gl.FLOAT, false, stride, 12);
    if (!colors) return;
    gl.enableVertexAttribArray(2);
    gl.vertexAttribPointer(2, 3, gl.UNSIGNED_BYTE, true, stride, 24);
  }

  draw() {
    this.gl.bindVertexArray(this.array);
    this.gl.drawElements(this.gl.TRIANGLES, this.indices.length, this.gl.UNSIGNED_INT, 0);
  }

  drawWire() {
    const gl = this.gl;
    if (!this.wire) {
      const edges = edgesOf(this.positions, this.indices);
      this.wire = { array: gl.createVertexArray(), count: edges.length };
      gl.bindVertexArray(this.wire.array);
      gl.bindBuffer(gl.ARRAY_BUFFER, this.vertices);
      this.describe(...this.layout);
      buffer(gl, gl.ELEMENT_ARRAY_BUFFER, edges);
    }
    gl.bindVertexArray(this.wire.array);
    gl.drawElements(gl.LINES, this.wire.count, gl.UNSIGNED_INT, 0);
  }
}

// points joined by lines; `runs` polylines of `length` points each lie one after the other
class Polyline {
  constructor(gl, positions, dynamic = false) {
    this.gl = gl;
    this.positions = positions;
    this.buffer = buffer(gl, gl.ARRAY_BUFFER, positions, dynamic ? gl.DYNAMIC_DRAW : gl.STATIC_DRAW);
    this.array = gl.createVertexArray();
    this.bounds = boundsOf(positions);
    this.line = true;
  }

  update(positions) {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.buffer);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, positions, this.gl.DYNAMIC_DRAW);
    this.positions = positions;
  }

  // `pieces` pieces from point `first` on
  draw(first = 0, pieces = this.positions.length / 3 - 1) {
    if (pieces < 1) return;
    const gl = this.gl;
    gl.bindVertexArray(this.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffer);
    for (const place of [0, 1]) {
      gl.enableVertexAttribArray(place);
      gl.vertexAttribPointer(place, 3, gl.FLOAT, false, 12, 12 * (first + place));
      gl.vertexAttribDivisor(place, 1);
    }
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, pieces);
  }
}

function buffer(gl, target, data, usage = gl.STATIC_DRAW) {
  const handle = gl.createBuffer();
  gl.bindBuffer(target, handle);
  gl.bufferData(target, data, usage);
  return handle;
}

function boundsOf(positions) {
  const bounds = new Bounds();
  for (let i = 0; i + 2 < positions.length; i += 3) bounds.add([positions[i], positions[i + 1], positions[i + 2]]);
  return bounds;
}

// a square render target: only depth (compared when read) or one byte a pixel
function makeTarget(gl, size, kind) {
  const texture = gl.createTexture();
  gl.bindTexture(gl.TEXTURE_2D, texture);
  const depth = kind === "depth";
  gl.texStorage2D(gl.TEXTURE_2D, 1, depth ? gl.DEPTH_COMPONENT24 : gl.RGBA8, size, size);
  for (const way of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, way, gl.LINEAR);
  for (const way of [gl.TEXTURE_WRAP_S, gl.TEXTURE_WRAP_T]) gl.texParameteri(gl.TEXTURE_2D, way, gl.CLAMP_TO_EDGE);
  const frame = gl.createFramebuffer();
  gl.bindFramebuffer(gl.FRAMEBUFFER, frame);
  if (depth) {
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_COMPARE_MODE, gl.COMPARE_REF_TO_TEXTURE);
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.TEXTURE_2D, texture, 0);
  } else {
    gl.framebufferTexture2D(gl.FRAMEBUFFER, gl.COLOR_ATTACHMENT0, gl.TEXTURE_2D, texture, 0);
    const store = gl.createRenderbuffer();
    gl.bindRenderbuffer(gl.RENDERBUFFER, store);
    gl.renderbufferStorage(gl.RENDERBUFFER, gl.DEPTH_COMPONENT16, size, size);
    gl.framebufferRenderbuffer(gl.FRAMEBUFFER, gl.DEPTH_ATTACHMENT, gl.RENDERBUFFER, store);
  }
  gl.bindFramebuffer(gl.FRAMEBUFFER, null);
  return { texture, frame, size };
}
