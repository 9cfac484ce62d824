"""Which arithmetic a machine is good at."""

from typing import Literal

import torch


def usual_precision(device: torch.device) -> Literal["float32", "bfloat16"]:
    """bfloat16 where the hardware has it. A CPU without it takes 32 times as long as in float32."""
    if device.type == "cuda":
        return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"
    if device.type == "cpu":
        asked = getattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", None)  # private: may go away
        return "bfloat16" if asked is not None and asked() else "float32"
    return "float32"
