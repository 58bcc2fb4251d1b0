"""Controllers: functions tau = controller(t, q, qd) of one state, ready for ``sixd.simulate``.

Each is a frozen dataclass that can be pickled, and is written for any scalar type: a simulation traces it into its
kernel. Any function ``def controller(t, q, qd)`` can be used in the same way.
"""

from sixd.controllers.computed_torque import ComputedTorque
from sixd.controllers.gravity import GravityCompensation
from sixd.controllers.impedance import Impedance
from sixd.controllers.operational_space import OperationalSpace
from sixd.controllers.pd import PD
from sixd.controllers.sequence import Sequence
from sixd.controllers.task_space import TaskSpacePD

__all__ = ["PD", "ComputedTorque", "GravityCompensation", "Impedance", "OperationalSpace", "Sequence", "TaskSpacePD"]
