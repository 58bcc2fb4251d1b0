"""The names of the MATLAB toolbox spatial_v2, over this library.

Code of a course or paper written for the toolbox runs with ``from sixd.spatial_v2 import *``. Models are dictionaries
with the original fields; bodies count from 1, and 0 is the base; several outputs are a tuple; MATLAB's cells are lists.
A model may change between any two calls; dynamics recognises its values and runs compiled code.
docs/from_spatial_v2.md lists every name with the native function that replaces it.
"""

from sixd.io.spatial_v2.structures import get_gravity
from sixd.spatial_v2.algebra import Fpt, Vpt, Xpt, XtoV, crf, crm, mcI, plnr, pluho, plux, rotx, roty, rotz, xlt
from sixd.spatial_v2.basemotion import fbanim, fbkin
from sixd.spatial_v2.contact import gcFD, gcontact, gcPosVel
from sixd.spatial_v2.dynamics import (
    HD,
    ID,
    CoriolisMatrix,
    EnerMo,
    FDab,
    FDcrb,
    FDgq,
    HandC,
    apply_external_forces,
    jcalc,
)
from sixd.spatial_v2.extended import (
    CMM,
    BodyJacobian,
    BodyJacobianTimeDerivative,
    Christoffel,
    FD_derivatives,
    Hinverse,
    ID_derivatives,
    RegressorClassical,
    getModelInertialParams,
    jinfo,
)
from sixd.spatial_v2.floating import FDfb, IDfb, floatbase
from sixd.spatial_v2.index_sets import depth, kappa, mu, nu
from sixd.spatial_v2.models import autoTree, doubleElbow, gfxExample, planar, rollingdisc, scissor, singlebody, vee
from sixd.spatial_v2.motion import showmotion
from sixd.spatial_v2.rotation import rq, rqd, rv, rx, ry, rz, skew
from sixd.spatial_v2.sparsity import LTDL, LTL, expandLambda, mpyH, mpyL, mpyLi, mpyLit, mpyLt
from sixd.spatial_v2.structure import Struct, to_model

__all__ = [
    "CMM", "HD", "ID", "LTDL", "LTL", "BodyJacobian", "BodyJacobianTimeDerivative", "Christoffel", "CoriolisMatrix",
    "EnerMo", "FD_derivatives", "FDab", "FDcrb", "FDfb", "FDgq", "Fpt", "HandC", "Hinverse", "ID_derivatives", "IDfb",
    "RegressorClassical", "Struct", "Vpt", "Xpt", "XtoV", "apply_external_forces", "autoTree", "crf", "crm", "depth",
    "doubleElbow", "expandLambda", "fbanim", "fbkin", "floatbase", "gcFD", "gcPosVel", "gcontact",
    "getModelInertialParams", "get_gravity", "gfxExample", "jcalc", "jinfo", "kappa", "mcI", "mpyH", "mpyL", "mpyLi",
    "mpyLit", "mpyLt", "mu", "nu", "planar", "plnr", "pluho", "plux", "rollingdisc", "rotx", "roty", "rotz", "rq",
    "rqd", "rv", "rx", "ry", "rz", "scissor", "showmotion", "singlebody", "skew", "to_model", "vee", "xlt",
]  # fmt: skip
