"""Identification of a robot's parameters from measured motions and joint torques.

``base_parameters`` finds the sums of parameters that torques depend on; ``excitation`` a motion that shows them;
``record`` filters and differentiates measurements; ``fit`` estimates the parameters, ``payload`` those of a load;
``report`` writes the result. ``sixd.identification`` is imported when it is first used.
"""

from sixd.identification.excitations import Excitation, excitation
from sixd.identification.fitting import Identification, fit
from sixd.identification.fourier import FourierSeries
from sixd.identification.payloads import Payload, payload
from sixd.identification.recordings import Recording, record
from sixd.identification.reports import report
from sixd.identification.structure.base import BaseParameters, base_parameters

__all__ = [
    "BaseParameters", "Excitation", "FourierSeries", "Identification", "Payload", "Recording", "base_parameters",
    "excitation", "fit", "payload", "record", "report",
]  # fmt: skip
