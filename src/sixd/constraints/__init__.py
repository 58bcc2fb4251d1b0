"""Kinds of constraints, and models reduced to the coordinates that explicit constraints leave independent."""

from sixd.constraints.functions import Coupling, Holonomic, Pfaffian
from sixd.constraints.loop import Distance, Loop
from sixd.constraints.reduced_model import Reduced
from sixd.constraints.rolling import KnifeEdge, Rolling, RollingSphere
