"""Controllers: functions tau = controller(t, q, qd) of one state, ready for ``sixd.simulate``.

Each is a frozen record that can be pickled, and is written for any scalar: a simulation traces it into its kernel. A
function of your own, ``def controller(t, q, qd)``, serves as well.
"""

from sixd.controllers.computed_torque import ComputedTorque
from sixd.controllers.gravity import GravityCompensation
from sixd.controllers.pd import PD
from sixd.controllers.sequence import Sequence
from sixd.controllers.task_space import TaskSpacePD

__all__ = ["PD", "ComputedTorque", "GravityCompensation", "Sequence", "TaskSpacePD"]
