"""Kinds of constraints, and models in the coordinates that explicit ones leave."""

from sixd.constraints.functions import Coupling, Holonomic, Pfaffian
from sixd.constraints.loop import Distance, Loop
from sixd.constraints.reduced import Reduced
from sixd.constraints.rolling import KnifeEdge, Rolling, RollingSphere
