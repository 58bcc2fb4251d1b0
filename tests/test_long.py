"""What takes long by nature: ``make long``. The same is asked in short in test_cases_c.py."""

import numpy as np
import pytest
from test_cases_c import BOX_CENTRE, BOX_VELOCITY, BRICARD, FOUR_BAR, close, energy_trend, four_bar_start

import sixd

pytestmark = pytest.mark.long


def test_midpoint_energy_has_no_trend_over_a_million_steps():
    """Double pendulum from (1.2, 0.8) at rest, steps of 10 ms: measured 1.1e-7 ± 0.9e-7 J/s, scatter 8e-3 J."""
    slope, error, motion = energy_trend("midpoint", 10**6)
    assert abs(slope) < 5 * error  # chaotic: other rounding gives other figures of this size
    scatter = motion.energy.std()
    assert abs(slope) * motion.duration < scatter
    # tenths of the run, each of 100 records, have the same mean as the whole
    means = np.array([part.mean() for part in np.array_split(motion.energy, 10)])
    assert np.abs(means - motion.energy.mean()).max() < 5 * scatter / 10


def test_midpoint_on_the_group_over_a_million_steps():
    """The tumbling box for 20000 s: momentum to 1e-12, quaternions unit, no trend of the energy."""
    box = sixd.zoo.single_body()
    motion = sixd.simulate(box, None, BOX_VELOCITY, 2e4, dt=0.02, method="midpoint", record_every=1000)
    close(sixd.momentum(box, motion.q, motion.qd), [1 / 6, 5 / 3, 0, 0, 0, 0], 1e-11)
    close(np.linalg.norm(motion.q[:, :4], axis=1), 1, 1e-12)
    close(sixd.center_of_mass(box, motion.q), BOX_CENTRE, 1e-7)  # a velocity of 1e-13, for 20000 s
    line, covariance = np.polyfit(motion.t, motion.energy, 1, cov=True)
    assert abs(line[0]) < 5 * np.sqrt(covariance[0, 0])
    assert np.ptp(motion.energy) < 1e-4  # goes with dt²


WAYS = {
    "projected": {"dt": 5e-4, "record_every": 2},
    "stabilised": {"dt": 5e-4, "record_every": 2, "constraints": "stabilised"},
    "adaptive": {"dt": 1e-3, "method": "adaptive", "rtol": 1e-10},
    "stiff": {"dt": 1e-3, "method": "stiff", "rtol": 1e-9},
}


@pytest.mark.parametrize("way", WAYS)
def test_bricard_for_ten_seconds(way):
    model = sixd.zoo.bricard()
    motion = sixd.simulate(model, None, None, 10.0, **WAYS[way])
    P3 = sixd.pose(model, motion.q, "P3")[:, :3, 3]
    for t, place in BRICARD.items():
        close(P3[round(t * 1000)], place, 1e-7)
    assert motion.constraint_error.max() < 1e-8
    assert np.ptp(motion.energy) < 1e-6


@pytest.mark.parametrize("way", WAYS)
def test_four_bar_for_ten_seconds(way):
    model = sixd.zoo.four_bar()
    motion = sixd.simulate(model, four_bar_start(model), None, 10.0, **WAYS[way])
    for t, angle in FOUR_BAR.items():
        close(motion.q[round(t * 1000), 0], angle, 1e-5)
    assert motion.constraint_error.max() < 1e-8
    assert np.ptp(motion.energy) < 1e-6


@pytest.mark.parametrize("name", ["bricard", "four_bar"])
def test_closed_chains_for_a_hundred_seconds(name):
    """What is asked of 10 s, over 100 s: RK4 at 1 ms."""
    model = sixd.zoo.get(name)
    start = four_bar_start(model) if name == "four_bar" else None
    motion = sixd.simulate(model, start, None, 100.0, dt=1e-3, record_every=10)
    assert motion.constraint_error.max() < 1e-8
    assert np.ptp(motion.energy) < 1e-6


def test_a_million_pendulums():
    """Each row is what it is alone, to the last bit; none depends on where it stands in the batch."""
    pendulum = sixd.zoo.pendulum()
    angles = np.linspace(-3, 3, 10**6)[:, None]
    motion = sixd.simulate(pendulum, angles, None, 10.0, dt=0.01, record_every=1000)
    assert motion.failed == 0
    for k in (0, 1, 123_457, 999_999):
        alone = sixd.simulate(pendulum, angles[k], None, 10.0, dt=0.01, record_every=1000)
        assert np.array_equal(alone.q, motion.q[k])
    close(motion.q[:, -1], -motion.q[::-1, -1], 1e-9)  # left and right
