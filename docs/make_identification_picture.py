"""Makes docs/identification.svg, the picture of identification.md.

python docs/make_identification_picture.py
"""

from __future__ import annotations

import numpy as np

import sixd
from make_step_pictures import BLUE, GREEN, GREY, HERE, ORANGE, Line, Panel, draw
from sixd import identification

LOAD = sixd.Inertia(2.3, (0.02, -0.01, 0.06), (0.010, 0.012, 0.008))


def singular_values(motion: identification.Excitation) -> np.ndarray:
    """The singular values of the weighted regressor, relative to the largest, as powers of ten."""
    W = motion.base.regressor(motion.q, motion.qd, motion.qdd) / motion.base.model.effort_limit[:, None]
    values = np.linalg.svd(W.reshape(-1, len(motion.base)), compute_uv=False)
    return np.log10(values / values[0])


def picture() -> str:
    """A motion, its singular values compared with those of a random one, and the estimate of a payload."""
    panda = sixd.zoo.panda_arm()
    random, best = identification.excitation(panda, iterations=0), identification.excitation(panda)

    arm = sixd.zoo.ur_arm()
    motion = identification.excitation(arm, velocity=1.0, rate=500, starts=1, iterations=20)
    loaded = arm.with_payload("can", "link6", LOAD)
    tau = sixd.inverse_dynamics(loaded, motion.q, motion.qd, motion.qdd)
    noise = 0.01 * np.sqrt((tau**2).mean(axis=0))
    tau = tau + noise * np.random.default_rng(1).normal(size=tau.shape)
    ends = np.arange(100, 5001, 50)
    estimates = [
        identification.payload(arm, "link6", motion.q[:n], motion.qd[:n], motion.qdd[:n], tau[:n], noise=noise)
        for n in ends
    ]
    mass = np.array([one.mass for one in estimates])
    half = 2 * np.array([one.mass_deviation for one in estimates])
    t, number = ends / 500, np.arange(1, 44)
    panels = [
        Panel("A motion that shows all", "joint velocities of a Panda [rad/s]", (0, 10), (-2.7, 2.7), range(0, 11, 2),
              (-2, -1, 0, 1, 2), "time [s]",
              [Line(best.t, best.qd[:, k], (BLUE, GREEN, ORANGE, GREY)[k % 4], "", (0, 0)) for k in range(7)]),
        Panel("Its 43 base parameters", "singular values of the regressor, log₁₀", (1, 43), (-3.2, 0),
              (1, 10, 20, 30, 43), (-3, -2, -1, 0), "number", [
            Line(number, singular_values(best), BLUE, f"condition {best.condition:.0f}", (112, 34)),
            Line(number, singular_values(random), ORANGE, f"random: {random.condition:.0f}", (20, 150), "5 4"),
        ]),
        Panel("A payload of 2.3 kg", "its mass [kg] from the first seconds", (0, 10), (2.28, 2.32), range(0, 11, 2),
              (2.28, 2.29, 2.3, 2.31, 2.32), "time [s]", [
            Line([0, 10], [2.3, 2.3], GREY, "", (0, 0), "2 4"),
            Line(t, mass + half, ORANGE, "± 2 deviations", (110, 60), "5 4"),
            Line(t, mass - half, ORANGE, "", (0, 0), "5 4"),
            Line(t, mass, BLUE, "estimate", (140, 128)),
        ]),
    ]  # fmt: skip
    return draw("Identification: an excitation, its singular values, a payload", panels)


def main() -> None:
    """Write the picture."""
    path = HERE / "identification.svg"
    path.write_text(picture(), encoding="utf-8")
    print(f"{path}: {path.stat().st_size / 1000:.1f} kB")


if __name__ == "__main__":
    main()
