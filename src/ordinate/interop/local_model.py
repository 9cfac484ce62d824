"""A model of transformers from a local folder, watched from outside: attention, hidden states, positions."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from ordinate.core.errors import InputError
from ordinate.interop.installed import transformers


class LocalModel:
    """A causal language model in evaluation mode, with plain attention, whose weights can be seen."""

    def __init__(self, model: Any) -> None:
        self.model = model.eval()
        config = model.config.get_text_config()
        self.name = type(model).__name__
        self.layers, self.heads = config.num_hidden_layers, config.num_attention_heads
        self.vocabulary = int(model.get_input_embeddings().weight.shape[0])
        self.max_positions: int | None = getattr(config, "max_position_embeddings", None)
        self.takes_positions = "position_ids" in inspect.signature(model.forward).parameters

    @staticmethod
    def load(folder: Path) -> "LocalModel":
        """From files on this machine alone; a folder that holds no such model is named."""
        hf = transformers()
        hf.utils.logging.disable_progress_bar()
        if not (folder / "config.json").is_file():
            raise InputError(f"{folder} holds no model of transformers: it has no config.json")
        try:
            model = hf.AutoModelForCausalLM.from_pretrained(
                folder, local_files_only=True, attn_implementation="eager", dtype=torch.float32
            )
        except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
            why = str(error).strip().partition("\n")[0]
            raise InputError(f"{folder} cannot be read as a causal language model of transformers: {why}") from error
        return LocalModel(model)

    def untrained(self, seed: int = 0) -> "LocalModel":
        """The same architecture with fresh weights."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            fresh = transformers().AutoModelForCausalLM.from_config(self.model.config, attn_implementation="eager")
        return LocalModel(fresh)

    @torch.inference_mode()
    def run(self, tokens: Int[Tensor, "b n"], positions: Int[Tensor, "#b n"] | None = None, **options: Any) -> Any:
        """A mask of ones says that a row is one text, whatever its positions are: without one, transformers takes
        positions that do not count up for packed documents."""
        given = {} if positions is None else {"position_ids": positions.expand(len(tokens), -1)}
        mask = torch.ones_like(tokens)
        return self.model(input_ids=tokens, attention_mask=mask, use_cache=False, **given, **options)

    def states(self, tokens: Int[Tensor, "b n"]) -> list[Float[Tensor, "b n d"]]:
        """The input of the first layer, then the output of every layer."""
        return list(self.run(tokens, output_hidden_states=True).hidden_states)

    def attention(self, tokens: Int[Tensor, "b n"], receive: Callable[[int, Tensor], None]) -> None:
        """Hand over the weights [b, h, n, n] of each layer, one at a time."""
        with self._watched(tokens.shape[1], receive) as seen:
            self.run(tokens)
        if len(seen) != self.layers:
            raise InputError(
                f"{self.name} shows the attention weights of {len(seen)} of its {self.layers} layers: its heads cannot"
                " be probed"
            )

    @contextmanager
    def _watched(self, length: int, receive: Callable[[int, Tensor], None]) -> Iterator[list[int]]:
        """Attention modules return their output and their weights; of nested ones, the inner is heard."""
        seen: list[int] = []

        def hear(module: Any, inputs: Any, output: Any) -> None:
            for part in output if isinstance(output, tuple) else ():
                if isinstance(part, Tensor) and part.dim() == 4 and part.shape[1:] == (self.heads, length, length):
                    seen.append(len(seen))
                    receive(seen[-1], part)

        named = [module for module in self.model.modules() if type(module).__name__.endswith("Attention")]
        inner = [one for one in named if not any(other in list(one.modules())[1:] for other in named)]
        hooks = [module.register_forward_hook(hear) for module in inner]
        try:
            yield seen
        finally:
            for hook in hooks:
                hook.remove()


def read_tokens(folder: Path, file: Path, length: int, rows: int) -> Int[Tensor, "b n"]:
    """Rows of so many tokens from a text, by the tokenizer in the model's folder."""
    hf = transformers()
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from error
    try:
        tokenizer = hf.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise InputError(
            f"{folder} holds no tokenizer that can be read: leave out --text to use random tokens"
        ) from error
    ids = torch.tensor(tokenizer(text, add_special_tokens=False)["input_ids"], dtype=torch.long)
    found = len(ids) // length
    if found < rows:
        raise InputError(f"{file} has {found} sequences of {length} tokens, and {rows} are needed: give a longer text")
    return ids[: rows * length].view(rows, length)
