"""rotary-embedding-torch | RoPE, axial | history

`get_axial_freqs` keeps angles by length alone, whatever the offsets: the first call decides for all later ones.
(`freqs_for="pixel"`, which the README's axial example uses, keeps nothing and is right.)
"""

from rotary_embedding_torch import RotaryEmbedding

rotary = RotaryEmbedding(16)
rotary.get_axial_freqs(8, 8)
print(f"row 0 at offset 3: angle {rotary.get_axial_freqs(8, 8, offsets=(3, 5))[0, 0, 0]:.0f}")
print(f"row 0 at offset 3, fresh: angle {RotaryEmbedding(16).get_axial_freqs(8, 8, offsets=(3, 5))[0, 0, 0]:.0f}")
