"""A spinning sphere falls: spatial acceleration is not the acceleration that one knows.

A sphere of 0.2 kg starts at the origin with the spatial velocity v = [-5 0 0 0 -1 -1]: it spins about x, and its
centre moves at (0, -1, -1). Only gravity acts, so the centre's acceleration is (0, 0, -9.8066), as it has been since
Galileo. The sphere's *spatial* acceleration is

    a = [0 0 0 0 5 -14.8066],

and that is right: a is the rate at which the velocity changes of whatever part of the body passes the origin. The next
part to come by moves otherwise, since the body spins. What a body-fixed point feels, its classical acceleration, is
a + ω×v: the 5 goes away. Accelerations in this form add, and change frames, like velocities do.

After 30 s: y = -30, z = -30 - 9.8066·30²/2 = -4442.97. The free joint's velocity is in the axes of the body, which
turn 24 times on the way, and yet the fall must be straight: a good test of steps on the group. RK4's error goes as
dt⁴."""

import numpy as np

import sixd

sphere = sixd.zoo.falling_sphere()
velocity = np.array([-5.0, 0, 0, 0, -1, -1])
qdd = sixd.forward_dynamics(sphere, sphere.neutral(), velocity, np.zeros(6))
at_start = (sphere, sphere.neutral(), velocity, qdd, "sphere")
spatial = sixd.acceleration(*at_start, expressed_in="world")
classical = sixd.acceleration(*at_start, kind="classical", expressed_in="aligned")
print("spatial acceleration  ", spatial, " book: [0 0 0 0 5 -14.8066]")
print("classical acceleration", classical, " and gravity is 9.8066")
assert np.abs(spatial - [0, 0, 0, 0, 5, -14.8066]).max() < 1e-14
assert np.abs(classical - [0, 0, 0, 0, 0, -9.8066]).max() < 1e-14
assert np.abs(spatial[3:] + np.cross(velocity[:3], velocity[3:]) - classical[3:]).max() < 1e-14

print("\n dt [ms]   y(30) + 30     z(30) + 4442.97")
for dt in (8e-3, 4e-3, 2e-3, 1e-3):
    motion = sixd.simulate(sphere, None, velocity, 30.0, dt=dt, record_every=1000)
    error = motion.q[-1, 4:] - [0, -30, -4442.97]
    print(f"{dt * 1e3:5.0f}    {error[1]:12.2e}    {error[2]:12.2e}")
assert np.abs(error).max() < 1e-5  # at 300 m/s and 1 ms

# the fall is straight and the spin the same
assert np.abs(motion.q[:, 4]).max() < 1e-12
assert np.abs(motion.qd[:, :3] - [-5, 0, 0]).max() < 1e-9  # v×mv, zero to rounding, at 300 m/s
