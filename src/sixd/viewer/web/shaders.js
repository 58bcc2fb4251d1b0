// The programs of the graphics card (GLSL ES 3.00). Light is computed in linear colours and converted to sRGB at the end.

const HEAD = `#version 300 es
precision highp float;
precision highp int;
`;

// from linear light to the screen: a soft shoulder above 0.6 instead of clipping, then sRGB
const DEVELOP = `
vec3 develop(vec3 c) {
  float peak = max(max(c.r, c.g), c.b);
  if (peak > 0.6) {
    float eased = 1.0 - 0.16 / (peak - 0.2);
    c = mix(c * (eased / peak), vec3(eased), 0.15 * (1.0 - exp(0.6 - peak)));
  }
  return mix(12.92 * c, 1.055 * pow(max(c, 1e-6), vec3(1.0 / 2.4)) - 0.055, step(0.0031308, c));
}
// half a colour step of noise, so that soft gradients show no bands
float grain() { return fract(52.9829189 * fract(dot(gl_FragCoord.xy, vec2(0.06711056, 0.00583715)))) / 255.0 - 0.5 / 255.0; }
`;

// how much of the key light arrives: 0 in shadow, 1 in light; the edge softened over 16 comparisons
const SHADOW = `
uniform highp sampler2DShadow shadowMap;
uniform mat4 shadowMatrix;
uniform float shadowOn, shadowTexel, shadowOffset;
float keyLight(vec3 p, vec3 n) {
  if (shadowOn == 0.0) return 1.0;
  vec3 s = (shadowMatrix * vec4(p + n * shadowOffset, 1.0)).xyz * 0.5 + 0.5;
  if (any(lessThan(s, vec3(0.0))) || any(greaterThan(s, vec3(1.0)))) return 1.0;
  float sum = 0.0;
  for (int i = 0; i < 16; i++) {
    vec2 tap = (vec2(float(i & 3), float(i >> 2)) - 1.5) * 1.9 * shadowTexel;
    sum += textureLod(shadowMap, vec3(s.xy + tap, s.z), 0.0);
  }
  return sum / 16.0;
}
`;

const BODY_VERTEX = `${HEAD}
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec3 tint;
uniform mat4 model, viewProjection;
out vec3 P, N, L, tintOut;
void main() {
  vec4 world = model * vec4(position, 1.0);
  // cofactors transform normals correctly under any scaling
  mat3 m = mat3(model);
  N = mat3(cross(m[1], m[2]), cross(m[2], m[0]), cross(m[0], m[1])) * normal;
  P = world.xyz;
  L = position;
  tintOut = tint;
  gl_Position = viewProjection * world;
}`;

// a studio: a broad sky, a bounce from the floor, a warm key light, and two soft boxes seen in the reflections
const BODY_FRAGMENT = `${HEAD}
in vec3 P, N, L, tintOut;
out vec4 outColor;
uniform vec4 color;
uniform vec3 eye, keyDirection, keyColor, skyColor, floorColor;
uniform float quarters, glow;
${SHADOW}${DEVELOP}
float box(vec3 r, vec3 d, float size) { return smoothstep(size, 1.0, dot(r, d)); }
void main() {
  vec3 v = normalize(eye - P);
  vec3 n = normalize(N);
  if (dot(n, v) < 0.0) n = -n;
  vec3 base = color.rgb * pow(tintOut, vec3(2.2));
  if (quarters > 0.5) base = L.x * L.y * L.z > 0.0 ? vec3(0.02) : base;
  float nl = max(dot(n, keyDirection), 0.0), nv = max(dot(n, v), 0.0);
  float key = nl > 0.0 ? keyLight(P, n) : 0.0;
  vec3 around = mix(floorColor, skyColor, 0.5 + 0.5 * n.z);
  vec3 fill = skyColor * 0.22 * max(dot(n, normalize(v + vec3(0.0, 0.0, 0.25))), 0.0);
  vec3 light = base * (around + fill + keyColor * nl * key);

  // the shine of lacquer: a rough highlight of the key light and the soft boxes, stronger at grazing angles
  float fresnel = 0.04 + 0.5 * pow(1.0 - nv, 5.0);
  vec3 h = normalize(keyDirection + v), r = reflect(-v, n);
  float d = max(dot(n, h), 0.0);
  float lobe = 0.14 / (3.14 * pow(d * d * (0.14 - 1.0) + 1.0, 2.0)) * 0.25;
  light += keyColor * lobe * nl * key * (0.04 + 0.96 * pow(1.0 - max(dot(h, v), 0.0), 5.0));
  vec3 studio = mix(floorColor, skyColor, smoothstep(-0.4, 0.6, r.z));
  studio += 1.6 * skyColor * (box(r, normalize(vec3(-0.7, 0.5, 0.5)), 0.72) + 0.6 * box(r, normalize(vec3(0.3, 0.9, 0.3)), 0.8));
  light += studio * fresnel;
  light = mix(light, base, glow);
  outColor = vec4(develop(light) + grain(), color.a);
}`;

// only depth, for the key light's shadow map
const DEPTH_VERTEX = `${HEAD}
layout(location = 0) in vec3 position;
uniform mat4 model, viewProjection;
out float height;
void main() {
  vec4 world = model * vec4(position, 1.0);
  height = world.z;
  gl_Position = viewProjection * world;
}`;
const DEPTH_FRAGMENT = `${HEAD}
void main() {}`;

// seen from below: how near each body is to the floor
const CONTACT_FRAGMENT = `${HEAD}
in float height;
out vec4 outColor;
uniform float ground, reach;
void main() { outColor = vec4(exp(-max(height - ground, 0.0) / reach)); }`;

const SCREEN_VERTEX = `${HEAD}
out vec2 uv;
void main() {
  uv = vec2(float(gl_VertexID & 1), float(gl_VertexID >> 1)) * 2.0;
  gl_Position = vec4(uv * 2.0 - 1.0, 0.99999, 1.0);
}`;

const BLUR_FRAGMENT = `${HEAD}
in vec2 uv;
out vec4 outColor;
uniform sampler2D source;
uniform vec2 direction;
void main() {
  float sum = 0.0, weights = 0.0;
  for (int i = -6; i <= 6; i++) {
    float w = exp(-float(i * i) / 14.0);
    sum += w * texture(source, uv + direction * float(i)).r;
    weights += w;
  }
  outColor = vec4(sum / weights);
}`;

const BACKGROUND_FRAGMENT = `${HEAD}
in vec2 uv;
out vec4 outColor;
uniform vec3 inner, outer;
uniform float aspect;
${DEVELOP}
void main() {
  vec2 p = (uv - vec2(0.5, 0.55)) * vec2(min(aspect, 1.6), 1.0);
  outColor = vec4(mix(inner, outer, smoothstep(0.0, 1.0, length(p) * 1.15)) + grain(), 1.0);
}`;

const GROUND_VERTEX = `${HEAD}
uniform mat4 model, viewProjection;
uniform vec2 centre;
uniform float reach;
out vec3 P;
out vec2 G;
void main() {
  G = centre + (vec2(float(gl_VertexID & 1), float(gl_VertexID >> 1)) * 2.0 - 1.0) * reach;
  vec4 world = model * vec4(G, 0.0, 1.0);
  P = world.xyz;
  gl_Position = viewProjection * world;
}`;

// the floor: shadow, darkness under bodies that stand on it, lines, tiles; all fade out with the distance
const GROUND_FRAGMENT = `${HEAD}
in vec3 P;
in vec2 G;
out vec4 outColor;
uniform vec3 eye, normal, lineColor, shadeColor;
uniform vec4 tile;
uniform vec2 centre;
uniform float reach, cell, lines, cross, shadowDepth, contactDepth;
uniform sampler2D contactMap;
uniform vec4 contactBox;
${SHADOW}
float line(vec2 g, float size, vec2 pixel) {
  vec2 away = abs(fract(g / size - 0.5) - 0.5) * size;
  vec2 on = clamp(1.0 - away / pixel, 0.0, 1.0) * clamp(1.3 - 5.0 * pixel / size, 0.0, 1.0);
  return max(on.x, on.y);
}
float tiles(vec2 g, float size, vec2 pixel) {
  vec2 soft = pixel / size;
  vec2 t = 2.0 * abs(fract(g / (2.0 * size)) - 0.5) - 0.5;
  vec2 s = clamp(t / soft, -0.5, 0.5);
  return 0.5 + 2.0 * s.x * s.y * clamp(1.5 - 2.0 * max(soft.x, soft.y), 0.0, 1.0);
}
vec4 over(vec4 below, vec4 above) {
  float a = above.a + below.a * (1.0 - above.a);
  return vec4((above.rgb * above.a + below.rgb * below.a * (1.0 - above.a)) / max(a, 1e-5), a);
}
void main() {
  float fade = 1.0 - smoothstep(0.15, 1.0, length(G - centre) / reach);
  float side = dot(eye - P, normal) > 0.0 ? 1.0 : 0.25;
  // seen along the floor, lines merge: fade them out
  float slant = smoothstep(0.0, 0.12, abs(dot(normalize(eye - P), normal)));
  vec2 pixel = max(fwidth(G), 1e-9);
  vec4 result = vec4(0.0);
  if (tile.a > 0.0) result = vec4(tile.rgb, tile.a * tiles(G, cell, pixel) * fade);
  if (lines > 0.0) {
    float strength = max(line(G, cell, pixel) * 0.30, line(G, cell * 5.0, pixel) * 0.55) * lines;
    // the x and y axes of the world, if they lie in the floor
    float onX = cross * clamp(1.25 - abs(G.y) / pixel.y, 0.0, 1.0), onY = cross * clamp(1.25 - abs(G.x) / pixel.x, 0.0, 1.0);
    vec3 ink = mix(mix(lineColor, vec3(0.78, 0.30, 0.30), onX), vec3(0.30, 0.62, 0.36), onY);
    result = over(result, vec4(ink, max(strength, 0.62 * max(onX, onY)) * fade * slant));
  }
  float dark = shadowDepth > 0.0 ? shadowDepth * (1.0 - keyLight(P, normal)) : 0.0;
  vec2 at = (P.xy - contactBox.xy) / contactBox.zw;
  vec2 rim = min(at, 1.0 - at);
  if (contactDepth > 0.0 && min(rim.x, rim.y) > 0.0) {
    float near = textureLod(contactMap, at, 0.0).r * smoothstep(0.0, 0.05, min(rim.x, rim.y));
    dark = 1.0 - (1.0 - dark) * (1.0 - contactDepth * near);
  }
  if (dark > 0.0) result = over(result, vec4(shadeColor, dark * fade));
  outColor = vec4(result.rgb, result.a * side);
}`;

// a polyline as one rectangle per piece, so many pixels wide
const LINE_VERTEX = `${HEAD}
layout(location = 0) in vec3 from;
layout(location = 1) in vec3 to;
uniform mat4 model, viewProjection;
uniform vec2 viewport;
uniform float width, count, tail;
out float strength;
void main() {
  vec4 a = viewProjection * (model * vec4(from, 1.0)), b = viewProjection * (model * vec4(to, 1.0));
  // clip the part behind the eye
  const float least = 1e-4;
  if (a.w < least && b.w < least) { gl_Position = vec4(2.0, 2.0, 2.0, 1.0); return; }
  if (a.w < least) a = mix(a, b, (least - a.w) / (b.w - a.w));
  if (b.w < least) b = mix(b, a, (least - b.w) / (a.w - b.w));
  vec2 along = (b.xy / b.w - a.xy / a.w) * viewport;
  along = length(along) > 1e-6 ? normalize(along) : vec2(1.0, 0.0);
  vec4 p = (gl_VertexID & 1) == 0 ? a : b;
  float turn = gl_VertexID < 2 ? 1.0 : -1.0, ahead = (gl_VertexID & 1) == 0 ? -1.0 : 1.0;
  vec2 shift = (vec2(-along.y, along.x) * turn + along * (tail > 0.0 ? 0.0 : 0.3 * ahead)) * width / viewport;
  gl_Position = p + vec4(shift * p.w, 0.0, 0.0);
  strength = tail > 0.0 ? 0.12 + 0.88 * exp(-(count - float(gl_InstanceID)) / tail) : 1.0;
}`;
const LINE_FRAGMENT = `${HEAD}
in float strength;
out vec4 outColor;
uniform vec4 color;
void main() { outColor = vec4(color.rgb, color.a * strength); }`;
