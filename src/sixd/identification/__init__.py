"""Identification."""

from sixd.identification.base import BaseParameters, base_parameters
