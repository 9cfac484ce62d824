"""A trained language model for the Language Model Evaluation Harness (lm-eval): `pip install 'ordinate[lm-eval]'`.

lm_eval.simple_evaluate(model=HarnessModel("checkpoints/nano_rope_10M_s42"), tasks=["lambada_openai"])
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ordinate.core.errors import InputError
from ordinate.core.extras import optional
from ordinate.core.seeds import generator
from ordinate.lm.evaluation.scorer import Scorer, WindowedText
from ordinate.lm.evaluation.windows import Window
from ordinate.lm.trained_model import open_trained
from ordinate.model import generate, pick_device
from ordinate.text.tokenizer import END_ID

_TemplateLM: Any = optional("lm_eval.api.model").TemplateLM
_GENERATION = {"until", "max_gen_toks", "do_sample", "temperature", "top_k", "top_p"}


@optional("lm_eval.api.registry").register_model("ordinate")
class HarnessModel(_TemplateLM):  # type: ignore[misc]
    """Scores and continues texts as a document that begins with them. `max_length`: the tokens that are read at once.

    By default that is the trained length: past it, results would measure the encoding's extrapolation as well.
    """

    def __init__(
        self,
        checkpoint: str | Path,
        *,
        data: str | Path | None = None,
        device: str = "auto",
        max_length: int | None = None,
        seed: int = 0,
        batch_size: object = None,  # both are passed by the harness; batches are made by their number of tokens
        max_batch_size: object = None,
    ) -> None:
        super().__init__()
        self.trained = open_trained(checkpoint, pick_device(device))
        self.corpus = self.trained.find_corpus(None if data is None else Path(data))
        self.scorer, self.seed = Scorer.of(self.trained), seed
        self.max_length = max_length or self.trained.config.model.length
        self._device = self.trained.device
        if refusal := self.scorer.refusal(self.max_length):
            raise InputError(refusal)

    @property
    def eot_token_id(self) -> int:
        return END_ID

    @property
    def tokenizer_name(self) -> str:
        """The tokenizer by its corpus, for caches of requests."""
        return self.corpus.fingerprint

    def tok_encode(self, string: str, add_special_tokens: bool | None = None, **_: Any) -> list[int]:
        """The tokens of a text, behind the one that begins documents unless `add_special_tokens` is False."""
        ids = self.corpus.encode(string)
        return ids[1:] if add_special_tokens is False else ids

    def _loglikelihood_tokens(
        self, requests: Sequence[tuple[Any, list[int], list[int]]], disable_tqdm: bool = False, **others: Any
    ) -> list[tuple[float, bool]]:
        """For every continuation its log-likelihood, and whether it is what greedy decoding would write."""
        pieces = [self._window(context, continuation) for _, context, continuation in requests]
        found = [(-float(answer.losses.sum()), bool(answer.best.all())) for answer in self._answers(pieces)]
        for (key, _, _), answer in zip(requests, found, strict=True):
            if key is not None:
                self.cache_hook.add_partial("loglikelihood", key, answer)
        return found

    def loglikelihood_rolling(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[float]:
        """The log-likelihood of whole texts, each token scored once, with as much context as is read at once."""
        windows = optional("lm_eval.utils").get_rolling_token_windows
        pieces, owners = [], []
        for number, (text,) in enumerate(request.args for request in requests):
            tokens = self.tok_encode(text, add_special_tokens=False)
            for read, scored in windows(tokens, END_ID, self.max_length, 1):
                pieces.append(_piece([*read, scored[-1]], len(scored)))
                owners.append(number)
        totals = [0.0] * len(requests)
        for number, answer in zip(owners, self._answers(pieces), strict=True):
            totals[number] -= float(answer.losses.sum())
        for request, total in zip(requests, totals, strict=True):
            self.cache_hook.add_partial("loglikelihood_rolling", request.args, total)
        return totals

    def generate_until(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[str]:
        """Continuations up to the first of the stopping texts, which is left out."""
        found = []
        for number, (context, settings) in enumerate(request.args for request in requests):
            found.append(self._continue(context, dict(settings), number))
            self.cache_hook.add_partial("generate_until", (context, settings), found[-1])
        return found

    def _continue(self, context: str, settings: dict[str, Any], number: int) -> str:
        if unknown := settings.keys() - _GENERATION:
            raise InputError(f"generation takes {', '.join(sorted(_GENERATION))}, got {', '.join(sorted(unknown))}")
        until = settings.get("until") or []
        until = [until] if isinstance(until, str) else until
        count = min(settings.get("max_gen_toks", 256), self.max_length - 1)
        prompt = self.tok_encode(context)[-(self.max_length - count) :]
        sampled = settings.get("do_sample", False) and settings.get("temperature", 0.0) > 0
        source = generator(self.seed, "harness", number, device=self._device) if sampled else None
        sampling: dict[str, Any] = {key: settings.get(key) for key in ("temperature", "top_k", "top_p")}
        inputs = torch.tensor([prompt], device=self._device)
        whole = generate(
            self.trained.model, inputs, count, generator=source, stop=END_ID, **sampling if sampled else {}
        )
        text = self.corpus.decode([token for token in whole[0, len(prompt) :].tolist() if token != END_ID])
        return text[: min((at for stop in until if (at := text.find(stop)) >= 0), default=len(text))]

    def _window(self, context: list[int], continuation: list[int]) -> WindowedText:
        """The continuation behind as much of its context as is read at once."""
        if len(continuation) > self.max_length:
            raise InputError(
                f"a continuation has {len(continuation)} tokens, but {self.max_length} are read at once: raise"
                " max_length"
            )
        return _piece([*context, *continuation][-(self.max_length + 1) :], len(continuation))

    def _answers(self, pieces: list[WindowedText]) -> list[Any]:
        everything = torch.ones(self.trained.config.model.vocabulary, dtype=torch.bool)
        return self.scorer.answers(pieces, everything) if pieces else []


def _piece(tokens: list[int], scored: int) -> WindowedText:
    return WindowedText(np.array(tokens, dtype=np.int64), Window(0, len(tokens), scored))
