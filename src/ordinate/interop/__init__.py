"""To and from transformers: rotary parameters both ways, and any encoding inside one of its models.

transformers is imported on first use; the rest of the package does not need it.
"""

from ordinate.interop.attach import Attached, attach_hf
from ordinate.interop.hf_model import as_hf
from ordinate.interop.reload import load_hf
from ordinate.interop.rope_parameters import from_hf, to_hf

__all__ = ["Attached", "as_hf", "attach_hf", "from_hf", "load_hf", "to_hf"]
