"""PoPE-pytorch | PoPE; PoPE, axial | moved

Frequencies are a buffer, or a parameter in the axial class; casting the model rounds them.
"""

from PoPE_pytorch import PoPE

exact = PoPE(64, heads=1)(4096).freqs.cos()
moved = PoPE(64, heads=1).bfloat16()(4096).freqs.float().cos()
print(f"cosine off by {(moved - exact).abs().max():.1f}")
