"""A network learns to swing up a pole on a cart, and to hold it there, with gradients through the simulation.

A force of at most 20 N pushes the cart along a rail; the pole hangs on it by a hinge. The policy is a small network of
PyTorch, (x, sin θ, cos θ, velocities) -> force. In each of 300 iterations ``sixd.torch.rollout`` drives 192 carts for
up to 1.75 s, from states of three kinds: hanging, near the top, and anywhere. The cost is the pole's distance from the
top, plus a small cost of the cart's position and of velocities. Its gradient with respect to all weights of the network
is exact: it is propagated back through all steps and the networks in between.

    python 70_swing_up_policy.py            # learns, and tests the policy from 500 other initial states
    python 70_swing_up_policy.py curve.png  # also draws the learning curve and some motions; needs matplotlib

It needs PyTorch (pip install torch), and about 20 s on one core.
"""

import math
import sys
import time

import torch

import sixd
import sixd.torch

model = sixd.zoo.cart_pole()  # q = (x, θ), θ = 0 at the top
MOST, DT, STEPS = 20.0, 0.05, 35


class Policy(torch.nn.Module):
    """A network of two layers with 64 neurons each; it returns the joint forces (…, 2), of which the hinge has none."""

    def __init__(self):
        super().__init__()
        first, second, last = (torch.nn.Linear(n, m) for n, m in ((5, 64), (64, 64), (64, 1)))
        self.network = torch.nn.Sequential(first, torch.nn.Tanh(), second, torch.nn.Tanh(), last).double()
        with torch.no_grad():
            last.weight.mul_(0.3)  # gentle at first
        self.register_buffer("scale", torch.tensor([0.5, 0.2], dtype=torch.float64))

    def forward(self, t, q, qd):
        angle = q[..., 1:]
        seen = torch.cat([q[..., :1], angle.sin(), angle.cos(), qd * self.scale], dim=-1)
        return torch.nn.functional.pad(MOST * torch.tanh(self.network(seen)), (0, 1))


def starts(count, device):
    """Random states: a third hangs, a third is near the top, the others are anywhere."""
    q = torch.randn(count, 2, dtype=torch.float64, device=device)
    qd = torch.randn(count, 2, dtype=torch.float64, device=device) * torch.tensor([0.5, 1.0], device=device)
    third = count // 3
    q[:third] = 0.1 * q[:third] + torch.tensor([0, math.pi], device=device)
    q[third : 2 * third] *= torch.tensor([0.5, 0.3], device=device)
    q[2 * third :, 1] = math.pi * (2 * torch.rand(count - 2 * third, device=device) - 1)
    return q, qd


def cost(motion):
    """The height that the pole lacks, the cart's distance from the middle, and velocities, at all times (…, steps)."""
    x, angle = motion.q.unbind(dim=-1)
    return 1 - angle.cos() + 0.3 * x**2 + 0.02 * motion.qd.square().sum(dim=-1)


def train(count=192, iterations=300, device="cpu", seed=0):
    """The policy, and the cost in each iteration."""
    torch.manual_seed(seed)
    policy = Policy().to(device)
    optimizer = torch.optim.Adam(policy.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.01, total_steps=iterations, pct_start=0.2)
    curve = []
    for k in range(iterations):
        steps = round(20 + (STEPS - 20) * min(1, k / (0.6 * iterations)))  # short motions first
        motion = sixd.torch.rollout(model, *starts(count, device), policy, DT, steps=steps)
        loss = cost(motion).mean()
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        curve.append(loss.detach())
    return policy, torch.stack(curve).tolist()


@torch.no_grad()
def tried(policy, count=500):
    """Motions of 6 s from rest, hanging within 0.3 rad."""
    q = 0.1 * torch.randn(count, 2, dtype=torch.float64, device=policy.scale.device)
    q[:, 1] += math.pi
    return sixd.torch.rollout(model, q, torch.zeros_like(q), policy, DT, steps=120)


def upright(motion):
    """The share of the motions that are within 10 degrees of the top all through their last second."""
    last = motion.q[:, -20:, 1].cos().amin(dim=-1)
    return (last > math.cos(math.radians(10))).double().mean().item()


def draw(path, curve, motion):
    """The learning curve, and the heights of some poles."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        sys.exit("70_swing_up_policy.py: drawing needs matplotlib: pip install matplotlib")
    left, right = (figure := Figure(figsize=(9, 3.5), layout="constrained")).subplots(1, 2)
    left.plot(curve)
    left.set(xlabel="iteration", ylabel="cost", ylim=(0, 3))
    times = DT * torch.arange(motion.q.shape[1])
    right.plot(times, motion.q[:30, :, 1].cos().T.cpu(), color="C0", alpha=0.3)
    right.set(xlabel="time [s]", ylabel="height of the pole: cos θ")
    figure.savefig(path)
    print("drawn:", path)


if __name__ == "__main__":
    torch.set_num_threads(1)  # small tensors
    begin = time.perf_counter()
    policy, curve = train()
    print(f"{len(curve)} iterations in {time.perf_counter() - begin:.0f} s: cost {curve[0]:.2f} -> {curve[-1]:.2f}")
    motion = tried(policy)
    share = upright(motion)
    print(f"{100 * share:.0f} % of {len(motion.q)} poles stand upright after 5 s; the cart is within", end=" ")
    print(f"{motion.q[:, -1, 0].abs().max():.2f} m of the middle")
    assert share > 0.95
    if len(sys.argv) > 1:
        draw(sys.argv[1], curve, motion)
