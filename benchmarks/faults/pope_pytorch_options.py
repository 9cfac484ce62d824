"""PoPE-pytorch | PoPE; PoPE, axial | options

`bias_uniform_init=True` writes to a parameter that records gradients; `inv_freqs` is declared to take a list, and does
not.
"""

from PoPE_pytorch import AxialPoPE, PoPE

uniform, listed = {"bias_uniform_init": True}, {"inv_freqs": [1.0, 0.1, 0.01, 0.001]}
for make, given in ((PoPE, uniform), (AxialPoPE, uniform), (PoPE, listed)):
    try:
        make(4, heads=2, **given)
    except (RuntimeError, TypeError) as error:
        print(f"{type(error).__name__}: {error}")
