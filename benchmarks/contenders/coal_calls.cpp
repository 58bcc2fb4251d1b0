// Prints the least time [ns] of coal::distance on a pair, and every distance, for solids and placements on stdin: twice
// a kind with its sizes, a number n, then n times the rotations (row by row) and positions of both.
#include <coal/distance.h>
#include <coal/shape/convex.h>
#include <coal/shape/geometric_shapes.h>

#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

using namespace coal;
using Shape = std::shared_ptr<CollisionGeometry>;

constexpr int kRounds = 15;

Shape read_shape() {
  std::string kind;
  std::cin >> kind;
  if (kind == "hull") {
    int n;
    std::cin >> n;
    auto points = std::make_shared<std::vector<Vec3s>>(n);
    for (auto& p : *points) std::cin >> p[0] >> p[1] >> p[2];
    return Shape(ConvexBase::convexHull(points, n, true, nullptr));
  }
  double a = 0, b = 0, c = 0;
  std::cin >> a;
  if (kind == "sphere") return std::make_shared<Sphere>(a);
  std::cin >> b;
  if (kind == "capsule") return std::make_shared<Capsule>(a, b);
  if (kind == "cylinder") return std::make_shared<Cylinder>(a, b);
  std::cin >> c;
  return std::make_shared<Box>(a, b, c);
}

Transform3s read_placement() {
  Matrix3s R;
  Vec3s t;
  for (int i = 0; i < 9; ++i) std::cin >> R(i / 3, i % 3);
  for (int i = 0; i < 3; ++i) std::cin >> t[i];
  return Transform3s(R, t);
}

int main() {
  const Shape a = read_shape(), b = read_shape();
  int n;
  std::cin >> n;
  std::vector<Transform3s> places_a(n), places_b(n);
  for (int k = 0; k < n; ++k) {
    places_a[k] = read_placement();
    places_b[k] = read_placement();
  }
  DistanceRequest request(true);
  request.enable_signed_distance = true;
  std::vector<double> found(n);
  double least = 1e300;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = std::chrono::steady_clock::now();
    for (int k = 0; k < n; ++k) {
      DistanceResult result;
      found[k] = distance(a.get(), places_a[k], b.get(), places_b[k], request, result);
    }
    const std::chrono::duration<double, std::nano> time = std::chrono::steady_clock::now() - start;
    least = std::min(least, time.count() / n);
  }
  std::printf("%.17g\n", least);
  for (double x : found) std::printf("%.17g\n", x);
}
