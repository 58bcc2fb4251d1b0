"""``sixd.Scenario``: a system, what acts on it, and how its time steps are computed.

Every simulation begins here: this module checks the arguments, ``setup`` decides what of them is compiled, and the
functions of the other modules compute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import TYPE_CHECKING, Any, final

from sixd.errors import ScalarTypeError, require_known
from sixd.forces.elements import Force, elements, set_fields
from sixd.model.system import System, require_system
from sixd.simulation.arguments import nonnegative, positive
from sixd.simulation.gradients.rollout_gradient import RolloutGradient, gradient_of_rollout
from sixd.simulation.gradients.step_derivatives import StepDerivatives, derivatives_of_step
from sixd.simulation.problem import PROJECTED, STABILISED
from sixd.simulation.simulate import METHODS, simulate_run
from sixd.simulation.stepper import Stepper, step_run
from sixd.simulation.stepping.adaptive import ADAPTIVE
from sixd.trajectory.trajectory import Trajectory

if TYPE_CHECKING:
    from sixd.spatial.scalar import Array

_ARGUMENTS = ("q", "qd", "tau", "controller", "f_ext")  # names that no symbol can have


@final
@dataclass(frozen=True, eq=False)
class Scenario:
    """A system, what acts on it, and how its time steps are computed: everything about a run but its start.

    Parameters
    ----------
    model : a Model with its constraints, a reduced model, or equations of motion (``sixd.lagrange``).
    controller, sample_time, f_ext, forces, parameters, constraints, stabilisation : as for ``sixd.simulate``.
    method, dt, rtol, atol : as for ``sixd.simulate``.

    Notes
    -----
    A scenario does not change; ``dataclasses.replace(run, dt=1e-4)`` makes another one. The arguments are checked here,
    except those that depend on the state. ``sixd.simulate(model, q, qd, 4.0, **options)`` and the other functions of
    this kind make a scenario of their options and call its method.

    >>> import sixd
    >>> run = sixd.Scenario(sixd.zoo.pendulum(), method="midpoint", dt=0.01)
    >>> len(run.simulate([0.5], [0.0], 2.0))
    201
    >>> advance = run.stepper()
    >>> q, qd = advance([0.5], [0.0])
    """

    model: System
    _: KW_ONLY
    controller: Any = None
    sample_time: float | None = None
    f_ext: Any = None
    forces: Sequence[Force] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    constraints: str = PROJECTED
    stabilisation: float = 20.0
    method: str = "rk4"
    dt: float | None = None
    rtol: float = 1e-9
    atol: float = 1e-12
    where: InitVar[str] = "Scenario"  # begins the messages of errors

    def __post_init__(self, where: str) -> None:
        require_system(where, self.model)
        require_known(f"{where}: method", "choice", self.method, METHODS)
        require_known(f"{where}: constraints", "choice", self.constraints, (PROJECTED, STABILISED))
        set_fields(self, forces=elements(where, self.forces), parameters=_by_name(where, self.parameters))
        set_fields(self, stabilisation=nonnegative(where, "stabilisation", self.stabilisation, "1/s"))
        if self.method in ADAPTIVE:  # fixed steps do not use them
            set_fields(self, rtol=positive(where, "rtol", self.rtol, "1"), atol=positive(where, "atol", self.atol, "1"))
        for name in ("sample_time", "dt"):
            if getattr(self, name) is not None:
                set_fields(self, **{name: positive(where, name, getattr(self, name), "s")})

    @property
    def structure(self) -> tuple[Any, ...]:
        """What the code of its steps depends on if controller, f_ext and parameters are inputs: a key for one model."""
        names = tuple(self.parameters)
        return self.method, self.f_ext is not None, self.forces, names, self.constraints, self.stabilisation

    def simulate(
        self, q: Any, qd: Any, duration: float, *, record_every: int = 1, events: Sequence[Callable[..., Any]] = (),
        seed: Any = None, progress: bool | Callable[[float], Any] | None = None,
        on_chunk: Callable[[Trajectory], Any] | None = None,
    ) -> Any:  # fmt: skip
        """Return the ``Trajectory`` from a state, or from many states at once, as ``sixd.simulate`` does.

        q, qd : (…, nq), (…, nv), the start. duration : [s]. The other arguments are those of ``sixd.simulate``.
        """
        return simulate_run(self, q, qd, duration, record_every, events, seed, progress, on_chunk)

    def step(self, q: Any, qd: Any, *, t: float = 0.0) -> tuple[Array, Array]:
        """Return the state (q, qd) one step later, as ``sixd.step`` does; the step is ``dt``, 1e-3 s if that is None.

        For a loop in Python, :meth:`stepper` is faster.
        """
        return step_run(self, q, qd, t)

    def stepper(self) -> Stepper:
        """Return a function ``stepper(q, qd, t=0.0, tau=None) -> (q, qd)`` that advances states by one step.

        See ``Stepper``. It is compiled once, from what the scenario's functions and objects are now.
        """
        return Stepper(self)

    def derivatives(self, q: Any, qd: Any, *, tau: Any = None, u: Any = None, t: float = 0.0) -> StepDerivatives:
        """Return the matrices A and B of one step, as ``sixd.step_derivatives`` does; tau (…, nv) and u (…, nu)."""
        return derivatives_of_step(self, q, qd, tau, u, t)

    def gradient(
        self, q: Any, qd: Any, controls: Any, *, cost: Callable[..., Any] | None = None,
        final: Callable[..., Any] | None = None, progress: bool | Callable[[float], Any] | None = None,
    ) -> RolloutGradient:  # fmt: skip
        """Return the cost of a motion and its gradients, as ``sixd.rollout_gradient`` does.

        controls : (…, steps, nv), joint forces held during each step [N m or N], added to the controller's.
        """
        return gradient_of_rollout(self, q, qd, controls, cost, final, progress)

    def ensemble(self, q: Any, qd: Any, duration: float, **options: Any) -> Trajectory:
        """Return the ``Trajectory`` of many simulations, as ``sixd.ensemble`` does.

        options : count, seed, processes, cluster, device, chunk, retries, keep, record_every, events, progress.
        """
        from sixd.simulation.ensemble.ensemble import simulate_ensemble  # imports much, and few simulations need it

        return simulate_ensemble(self, q, qd, duration, **options)


def _by_name(where: str, parameters: Any) -> dict[str, Any]:
    """Return the parameters by name, symbols by their own."""
    if parameters is not None and not isinstance(parameters, Mapping):
        raise ScalarTypeError(f"{where}: parameters is {parameters!r:.60}, expected a mapping of names to arrays.")
    values = {str(name): x for name, x in (parameters or {}).items()}
    for name in values:
        if name in _ARGUMENTS:
            raise ScalarTypeError(f"{where}: parameters has {name!r}, which means something else. Rename the symbol.")
    return values
