"""Identification."""

from sixd.identification.base import BaseParameters, base_parameters
from sixd.identification.fitting import Identification, fit
from sixd.identification.payloads import Payload, payload
from sixd.identification.recordings import Recording, record
from sixd.identification.excitations import Excitation, excitation
