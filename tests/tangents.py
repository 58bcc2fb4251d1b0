"""The tangent of a recipe: forward directional derivatives through all steps. An independent check of its adjoint."""

import numpy as np

from sixd.engine.artifact import make_rollout, recipe_key
from sixd.simulation.gradients.adjoint_steps import COST, TAU, forward_step
from sixd.spatial.scalar import object_array
from sixd.trace import derivative
from sixd.trace.program import trace
from sixd.trace.recipe import Repeated
from sixd.trace.replay import replay
from sixd.trace.stages import trace_stages


def _pushed(program, dtype="float64"):
    """Return the program (inputs…, rates of inputs…) -> rates of outputs."""
    shapes = {f"in{k}": slot.shape for k, slot in enumerate(program.inputs)}
    rates = {f"rate{k}": slot.shape for k, slot in enumerate(program.inputs)}

    def push(*arrays):
        inputs, along = arrays[: len(shapes)], arrays[len(shapes) :]
        graph = next(e.graph for a in arrays for e in np.ravel(np.asarray(a, dtype=object)))
        results = replay(program, inputs)
        flat = [e for r in results for e in graph.entries(r)]
        found = iter(derivative.jvp(flat, [e for a in inputs for e in graph.entries(a)],
                                    [e for a in along for e in graph.entries(a)]))  # fmt: skip
        return tuple(
            object_array([next(found) for _ in range(np.size(r))], np.shape(r)) if np.shape(r) else next(found)
            for r in results
        )

    return trace(push, {**shapes, **rates}, dtype)


def tangent(recipe):
    """Return the recipe whose state includes the rates of the state, and whose series and constants have rates too."""
    own = {name: recipe.memory[name] for name in recipe.inputs}
    state = {name: own[name] for name in recipe.state}
    series = {name: own[name] for name in recipe.series}
    constants = {name: own[name] for name in recipe.constants}

    def rates(shapes):
        return {f"rate of {name}": shape for name, shape in shapes.items()}

    pushed = {}

    def step(stages, *arrays):
        names = (*state, *rates(state), *constants, *rates(constants), *series, *rates(series))
        given = dict(zip(names, arrays, strict=True))
        known = {name: given[name] for name in own}
        rate = {name: given[f"rate of {name}"] for name in own}
        for work in recipe.works:
            is_loop = isinstance(work, Repeated)
            call = work.works[0] if is_loop else work
            names = (*work.inputs, *call.inputs[len(work.inputs) :])
            most, when = (work.most, known[work.when] if work.when else None) if is_loop else (1, None)
            inputs, along = [known[n] for n in names], [rate[n] for n in names]
            found = stages(call.program, *inputs, most=most, when=when)
            found = found if isinstance(found, tuple) else (found,)
            program = call.program
            if most > 1:
                program = work.smooth()
                inputs[: len(found)] = found
            moved = tuple(x * 0 for x in found)
            # dy = S_x dx + S_y dy, iterated until the contraction has converged
            for _ in range((1 if most == 1 else 12) if inputs else 0):
                along[: len(found)] = moved if most > 1 else along[: len(found)]
                if id(program) not in pushed:
                    pushed[id(program)] = program, _pushed(program)
                moved = stages(pushed[id(program)][1], *inputs, *along)
                moved = moved if isinstance(moved, tuple) else (moved,)
            known |= dict(zip(work.outputs, found, strict=True))
            rate |= dict(zip(work.outputs, moved, strict=True))
        after = [known[name] for name in recipe.results]
        return *after, *(rate[name] for name in recipe.results)

    return trace_stages(step, state | rates(state), constants | rates(constants), "float64", series | rates(series))


def pushed_cost(setup, method, cost, h, taus, along):
    """Return the rates of q, qd and the sum of the cost at the end, along rates of the initial q, qd and the forces.

    ``cost`` is the program of a cost; taus (steps, nv); ``along`` has "q" (nq,), "qd" (nv,), "tau" (steps, nv).
    """
    recipe = tangent(forward_step(setup.problem, method, "float64", cost))
    rollout = make_rollout(recipe, recipe_key(recipe, "float64"), "tangent", method, "test", "float64")
    given = {"q": setup.q, "qd": setup.qd, "u": setup.u, "h": [h], "start": [0.0], TAU: taus[None]}
    given |= {f"constant {name}": x for name, x in setup.constants.items() if name != "tau"}
    given |= {"rate of q": along["q"][None], "rate of qd": along["qd"][None], f"rate of {TAU}": along["tau"][None]}
    arrays = [np.asarray(given.get(name, np.zeros((1, *recipe.memory[name]))), dtype=float) for name in recipe.inputs]
    found = rollout(np.ones(len(taus)), arrays)
    last = {name: x[0, -1] for name, x in zip(recipe.state, found, strict=True)}
    return last["rate of q"], last["rate of qd"], last.get(f"rate of {COST}")
