"""``sixd.torch.step`` and ``sixd.torch.rollout``: motions of tensors, differentiable through time."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

import torch

from sixd.errors import ScalarTypeError
from sixd.model.system import System, require_system
from sixd.simulation.arguments import positive, whole
from sixd.simulation.gradients.whole_step import Motion, require_arrays, step_request
from sixd.simulation.problem import PROJECTED
from sixd.simulation.scenario import Scenario
from sixd.torch import operators, rollouts
from sixd.torch.functions import evaluate
from sixd.torch.tensors import NAMES, as_tensor, kind_of


def step(
    model: System,
    q: Any,
    qd: Any,
    dt: Any,
    *,
    tau: Any = None,
    t: Any = 0.0,
    method: str = "rk4",
    f_ext: Any = None,
    forces: Any = (),
    parameters: Mapping[str, Any] | None = None,
    constraints: str = PROJECTED,
    stabilisation: float = 20.0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """The state (q, qd) one step of dt [s] later: ``sixd.step`` on tensors.

    Parameters
    ----------
    q, qd : (…, nq), (…, nv).
    dt : the step [s], a number or a tensor (…).
    tau : (…, nv), joint forces that are held during the step [N m or N]; zero if omitted.
    t : the time [s], for constraints that prescribe a motion.
    method : with fixed steps, as for ``sixd.step``.
    f_ext, forces, constraints, stabilisation : as for ``sixd.step``; f_ext (…, nb, 6) is a tensor. Elements among the
        forces are fixed at their first step with a model.
    parameters : name -> (…, core), as for ``sixd.simulate``.

    Returns
    -------
    q, qd : (…, nq), (…, nv).

    Notes
    -----
    Differentiable with respect to all tensors. Derivatives with respect to q have nq entries, also if its quaternions
    are not of unit length (the step normalises them). Derivatives of every order are available, with exceptions: steps
    with dry friction, rigid limits or contact, of the midpoint rule, or of more than 20,000 operations have only first
    derivatives, and none with respect to dt. Values are not checked: a state off the constraints, or not finite, raises
    no error.
    """
    _require_system("step", model)
    setting = _setting("step", method, f_ext, forces, parameters, constraints, stabilisation)
    more = (() if f_ext is None else (f_ext,)) + tuple((parameters or {}).values())
    dtype, device = kind_of("step", (q, qd, dt, t, tau, *more))
    tau = torch.zeros(model.nv, dtype=dtype, device=device) if tau is None else tau
    key = *setting, NAMES[dtype]
    if torch.compiler.is_compiling():
        handle, names, cores = _constant_step(id(model), *key)
    else:
        handle, names, cores = _step(model, *key)
    if not handle:
        number = float(positive("step", "dt", dt, "s")) if not isinstance(dt, torch.Tensor) else float(dt)
        motion = _roll(setting, model, q, qd, tau, number, float(t), more, dtype, device, single=True)
        return motion.q[..., -1, :], motion.qd[..., -1, :]
    given = zip(names, (q, qd, dt, t, tau, *more), cores, strict=True)
    tensors = [as_tensor("step", name.removeprefix("the "), x, core, dtype, device) for name, x, core in given]
    found = operators.run(tensors, handle)
    return found[0], found[1]


def rollout(
    model: System,
    q: Any,
    qd: Any,
    controls: Any,
    dt: float,
    *,
    steps: int | None = None,
    t: float = 0.0,
    method: str = "rk4",
    f_ext: Any = None,
    forces: Any = (),
    parameters: Mapping[str, Any] | None = None,
    constraints: str = PROJECTED,
    stabilisation: float = 20.0,
) -> Motion:
    """The motion under prescribed joint forces, or under a policy: all states, differentiable.

    Parameters
    ----------
    q, qd : (…, nq), (…, nv), the start.
    controls : (…, steps, nv), joint forces [N m or N], each held during its step; or a function ``policy(t, q, qd)`` of
        the time [s] and tensors, such as a network, that returns them (…, nv). A policy requires ``steps``.
    dt : the step [s], a number.
    steps : the number of steps under a policy.
    t, method, f_ext, forces, parameters, constraints, stabilisation : as for ``step``.

    Returns
    -------
    ``Motion``: ``q`` (…, steps + 1, nq), ``qd`` (…, steps + 1, nv), the start first, with unit quaternions.

    Notes
    -----
    With prescribed forces, one compiled loop computes all steps of all states, and another one propagates the gradients
    back: first derivatives with respect to the initial state, the forces and the parameters. Under a policy, each step
    is a call of ``step``. Gradients are NaN for states whose impulses (friction, contact) did not converge.
    """
    _require_system("rollout", model)
    setting = _setting("rollout", method, f_ext, forces, parameters, constraints, stabilisation)
    more = (() if f_ext is None else (f_ext,)) + tuple((parameters or {}).values())
    h = positive("rollout", "dt", dt, "s")
    if callable(controls) and not isinstance(controls, torch.Tensor):
        if steps is None:
            raise ScalarTypeError("rollout: controls is a function, expected steps=, the number of steps, with it.")
        options: dict[str, Any] = {
            "method": method, "f_ext": f_ext, "forces": forces, "parameters": parameters, "constraints": constraints,
            "stabilisation": stabilisation,
        }  # fmt: skip
        return _under_policy(model, q, qd, controls, h, whole("rollout", "steps", steps, least=0), float(t), options)
    if steps is not None and steps != controls.shape[-2]:
        raise ScalarTypeError(f"rollout: steps is {steps}, expected {controls.shape[-2]}, as controls have, or None.")
    dtype, device = kind_of("rollout", (q, qd, controls, *more))
    return _roll(setting, model, q, qd, controls, h, float(t), more, dtype, device)


def _require_system(where: str, model: Any) -> None:
    if not torch.compiler.is_compiling():
        require_system(where, model)


def _under_policy(
    model: System, q: Any, qd: Any, policy: Callable[..., Any], dt: float, steps: int, t: float, options: dict[str, Any]
) -> Motion:
    """Step after step under a policy."""
    q = _unit(model, q)
    states = [(q, qd)]
    for k in range(steps):
        now = t + k * dt
        q, qd = step(model, q, qd, dt, tau=policy(now, q, qd), t=now, **options)
        states.append((q, qd))
    first = states[0]
    if steps:  # the start in the shape of the batch, which the policy may have enlarged
        states[0] = first[0].expand_as(q), first[1].expand_as(qd)
    return Motion(torch.stack([x for x, _ in states], dim=-2), torch.stack([x for _, x in states], dim=-2))


def _unit(model: System, q: Any) -> Any:
    """A configuration with unit quaternions."""
    if model.nq == model.nv:
        return q
    return evaluate("integrate", model, (q, torch.zeros(model.nv, dtype=q.dtype, device=q.device)), None, (), None)[0]


def _roll(
    setting: tuple[Any, ...],
    model: System,
    q: Any,
    qd: Any,
    controls: Any,
    dt: float,
    t: float,
    more: tuple[Any, ...],
    dtype: torch.dtype,
    device: torch.device,
    *,
    single: bool = False,
) -> Motion:
    """The motion by the operator of rollouts."""
    where, key = setting[0], (*setting, NAMES[dtype])
    if torch.compiler.is_compiling():
        handle, names, cores = _constant_rolled(id(model), *key)
    else:
        handle, names, cores = _rolled(model, *key)
    width = (model.nv,) if single else (None, model.nv)
    q = _unit(model, as_tensor(where, "q", q, (model.nq,), dtype, device))
    qd = as_tensor(where, "qd", qd, (model.nv,), dtype, device)
    taus = as_tensor(where, "tau" if single else "controls", controls, width, dtype, device)
    given = zip(names, more, cores, strict=True)
    constants = [as_tensor(where, name, x, core, dtype, device) for name, x, core in given]
    found = rollouts.run([q, qd, taus[..., None, :] if single else taus, *constants], handle, dt, t)
    return Motion(found[0], found[1])


# handles ------------------------------------------------------------------------------------------


def _setting(
    where: str,
    method: str,
    f_ext: Any,
    forces: Any,
    parameters: Any,
    constraints: str,
    stabilisation: float,
) -> tuple[Any, ...]:
    """The fields of a setting, with the addresses of force elements instead of these: numbers and text alone."""
    require_arrays(where, "tensor", f_ext, parameters)
    every = tuple(forces) if isinstance(forces, (tuple, list)) else (forces,)
    names = tuple(str(name) for name in parameters or {})
    return where, method, f_ext is not None, tuple(id(x) for x in every), names, constraints, stabilisation


def _scenario(
    where: str,
    model: System,
    method: str,
    has_f_ext: bool,
    addresses: tuple[int, ...],
    parameters: tuple[str, ...],
    constraints: str,
    stabilisation: float,
) -> Scenario:
    """The scenario of the fields of a setting; its arrays are inputs of the code, and stand-ins here."""
    forces = tuple(_object(x) for x in addresses)
    return Scenario(
        model, method=method, f_ext=0.0 if has_f_ext else None, forces=forces,
        parameters=dict.fromkeys(parameters, 0.0), constraints=constraints, stabilisation=stabilisation, where=where,
    )  # fmt: skip


def _object(address: int) -> Any:
    """The object at an address: the caller of the operator holds it."""
    return ctypes.cast(address, ctypes.py_object).value


def _step(model: System, *key: Any) -> tuple[Any, ...]:
    """The handle of a step, its names and core shapes; the handle 0 where it is not a function."""
    where, *fields, dtype = key
    request = step_request(where, _scenario(where, model, *fields), dtype)
    if request is None:
        return 0, (), ()
    made = operators.call_of(model, request)
    return made.handle, made.names, made.inputs


def _rolled(model: System, *key: Any) -> tuple[Any, ...]:
    where, *fields, dtype = key
    made = rollouts.rolled_of(where, _scenario(where, model, *fields), dtype)
    return made.handle, tuple(made.constants), tuple(made.constants.values())


@torch.compiler.assume_constant_result
def _constant_step(address: int, *key: Any) -> tuple[Any, ...]:
    found = _step(_object(address), *key)
    if found[0]:
        operators.keep(operators.handled(found[0]))
    return found


@torch.compiler.assume_constant_result
def _constant_rolled(address: int, *key: Any) -> tuple[Any, ...]:
    found = _rolled(_object(address), *key)
    operators.keep(operators.handled(found[0]))
    return found
