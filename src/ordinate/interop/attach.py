"""Any encoding in a transformers model, instead of the model's own positions."""

import copy
import inspect
import json
from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from ordinate.core.encoding import Encoding, without_autocast
from ordinate.core.errors import InputError
from ordinate.core.positions import AttentionContext
from ordinate.interop import attention
from ordinate.interop.fitting import Description, attentions, carrier, fitting, match
from ordinate.interop.installed import transformers
from ordinate.interop.memory import Memory
from ordinate.interop.own_positions import OwnPositions
from ordinate.interop.passing import Pass, make_context
from ordinate.model.assemble import distinct


def attach_hf(
    model: Any,
    encoding: str | Encoding | Sequence[str | Encoding],
    *,
    length: int | None = None,
    seed: int = 0,
    token_size: float | None = None,
) -> "Attached":
    """Replace the positions of a transformers model with this encoding. `Attached.detach` undoes it.

    encoding: as text (`t5`, `rope(base=500000)+segment`), or texts that repeat over the layers; an object for all
    layers, or one for each. length: the trained length; by default `max_position_embeddings`. seed: initializes
    encodings given as text. token_size: the root mean square of the token embeddings, which what is added to them is
    matched to; by default that of the model's embeddings now. `save_pretrained` writes all of it into the
    configuration, from which `load_hf` attaches the same again.
    """
    hf = transformers()
    if not isinstance(model, hf.PreTrainedModel):
        raise InputError(f"attach_hf takes a model of transformers, got {type(model).__name__}")
    base = carrier(model)
    if isinstance(getattr(base, attention.NAME, None), Attached):
        raise InputError(f"{type(base).__name__} has an encoding attached already: call detach() of it first")
    layers = attentions(base)
    encodings, description = fitting(base, layers, encoding, length, seed, token_size)
    hf.AttentionInterface.register(attention.NAME, attention.attention)
    attached = Attached(encodings, description).to(base.get_input_embeddings().weight)
    attached.install(model, base, layers)
    return attached


class Attached(nn.Module):
    """The encodings of a model, as a submodule of it: part of its parameters and its `state_dict`."""

    def __init__(self, per_layer: Sequence[Encoding], description: Description | None = None) -> None:
        """`description`: what they can be made from again; None for objects that no text describes."""
        super().__init__()
        self.description = description
        self.per_layer, self.causal = list(per_layer), per_layer[0].shape.causal
        self.parts = distinct(per_layer)
        self.encodings = nn.ModuleList(self.parts)
        self.extra_inputs = {what for part in self.parts for what in part.extra_inputs}
        self.embedding_parts = [part for part in self.parts if part.overrides("embed")]

    def install(self, model: Any, base: Any, layers: Sequence[nn.Module]) -> None:
        self.own = OwnPositions(base)
        config = copy.deepcopy(base.config)  # changed below, and other models may share the original
        for module in [module for module in model.modules() if getattr(module, "config", None) is base.config]:
            module.config = config
        # Saved with the model: without its encoding, transformers then refuses to load or to run it.
        config.attn_implementation = attention.NAME
        setattr(config, attention.NAME, self.description)
        self.base = [base]  # in a list, so that it is not a submodule
        self.attention_before = base.config._attn_implementation
        self.arguments = tuple(inspect.signature(base.forward).parameters)
        base.set_attn_implementation(attention.NAME)
        base.add_module(attention.NAME, self)
        self.hooks = [base.register_forward_pre_hook(self.before_forward, with_kwargs=True)]
        for layer, encoding in zip(layers, self.per_layer, strict=True):
            if encoding.feature_width:
                self.hooks.append(layer.register_forward_pre_hook(attention.read, with_kwargs=True))

    def detach(self) -> None:
        """Give the model back its own positions and its own attention."""
        for hook in self.hooks:
            hook.remove()
        for base in self.base:
            delattr(base, attention.NAME)
            base.set_attn_implementation(self.attention_before)
            delattr(base.config, "attn_implementation")
            delattr(base.config, attention.NAME)
            self.own.restore()
        self.base = []

    def get_extra_state(self) -> Tensor:
        """The description, among the weights: without it, loading them into another one could go unnoticed."""
        return torch.tensor(list(json.dumps(self.description).encode()), dtype=torch.uint8)

    def set_extra_state(self, state: Tensor) -> None:
        """Refuse the weights of another encoding; take over the size that what is added was matched to."""
        saved = json.loads(bytes(state.tolist()))
        if self.description is None or saved is None:
            return
        for key, found in self.description.items():
            if key != "token_size" and saved[key] != found:
                raise InputError(
                    f"these weights belong to {key} {saved[key]}, but {key} {found} is attached: attach the same first"
                )
        if saved["token_size"] != self.description["token_size"]:
            self.description["token_size"] = saved["token_size"]
            for part in self.parts:
                match(part, saved["token_size"])

    def before_forward(
        self, base: Any, args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> tuple[tuple[()], dict[str, Any]]:
        """Before the model runs: build the context, and apply `embed` to the token embeddings."""
        given = keywords | dict(zip(self.arguments, args, strict=False))
        sources = [given[name] for name in ("input_ids", "inputs_embeds") if given.get(name) is not None]
        if len(sources) != 1 or not isinstance(sources[0], Tensor):
            raise InputError("pass either input_ids or inputs_embeds to the model, as a tensor")
        if given.get("encoder_hidden_states") is not None:
            raise InputError("an attached model attends to itself alone, got encoder_hidden_states")
        self._check_inputs(given)
        recompute = bool(base.is_gradient_checkpointing) and base.training
        memory = self._memory(base, given, recompute)
        b, n = sources[0].shape[:2]
        context = make_context(given, (b, n), memory, causal=self.causal)
        wanted = given.get("output_attentions")
        weights = bool(getattr(base.config, "output_attentions", False) if wanted is None else wanted)
        given["ordinate"] = Pass(self.per_layer, context, memory, shared=not recompute, weights=weights)
        if self.embedding_parts:
            given |= {"input_ids": None, "inputs_embeds": self._embed(base, given, context)}
        if self.own.tables and "position_ids" in self.arguments:  # not looked up, so no length is too long
            given["position_ids"] = torch.zeros(1, n, dtype=torch.long, device=sources[0].device)
        return (), given

    def _check_inputs(self, given: dict[str, Any]) -> None:
        """Refuse missing inputs that an encoding reads."""
        sources = {"segments": "token_type_ids", "tokens": "input_ids", "neighbors": "input_ids"}
        for what, name in sources.items():
            if what in self.extra_inputs and given.get(name) is None:
                reader = next(part.name for part in self.parts if what in part.extra_inputs)
                raise InputError(f"{reader} reads {what}: pass {name} to the model")

    def _memory(self, base: Any, given: dict[str, Any], recompute: bool) -> Memory | None:
        use = given.get("use_cache")
        use = getattr(base.config, "use_cache", False) if use is None else use
        if given.get("past_key_values") is None and self.causal and use and not recompute:
            given["past_key_values"] = transformers().DynamicCache(config=base.config)
        cache = given.get("past_key_values")
        if cache is not None and not self.causal:
            raise InputError("only a causal model can decode with a cache: this one is bidirectional")
        return None if cache is None else Memory(cache, len(self.per_layer))

    def _embed(self, base: Any, given: dict[str, Any], context: AttentionContext) -> Float[Tensor, "b n d"]:
        table, tokens, positions = base.get_input_embeddings(), given.get("input_ids"), context.q
        if "neighbors" in self.extra_inputs and context.k is not context.q:  # their neighbors came earlier
            positions, tokens = context.k, context.k.tokens
        x: Tensor = given["inputs_embeds"] if tokens is None else table(tokens)
        with without_autocast(x):
            for part in self.embedding_parts:
                x = part.embed(x, part.relabel_positions(positions))
        return x if positions is context.q else x[:, context.start :]
