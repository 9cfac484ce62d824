"""To and from transformers: rotary parameters both ways, and any encoding inside one of its models.

transformers is asked for when first needed: the rest of the package does without it.
"""

from ordinate.interop.attach import Attached, attach_hf
from ordinate.interop.rope_parameters import from_hf, to_hf

__all__ = ["Attached", "attach_hf", "from_hf", "to_hf"]
