"""The transformer: configuration, attention, generation, and recordings of attention."""

from ordinate.model.attention import attend
from ordinate.model.bound_encoding import BoundEncoding
from ordinate.model.config import PRESETS, ModelConfig, preset
from ordinate.model.device import pick_device
from ordinate.model.generation import generate
from ordinate.model.recording import Recording, record, watch_attention
from ordinate.model.transformer import Transformer

__all__ = [
    "PRESETS", "BoundEncoding", "ModelConfig", "Recording", "Transformer", "attend", "generate", "pick_device",
    "preset", "record", "watch_attention",
]  # fmt: skip
