"""Train one small model with two encodings to recall the token three steps back, then test it on longer sequences."""

import torch
from rich.console import Console
from rich.progress import track
from torch import Tensor

from ordinate import ModelConfig, Transformer
from ordinate.core.seeds import generator

VOCABULARY, BACK, TRAINED, STEPS = 16, 3, 32, 300


def batch(count: int, length: int, source: torch.Generator) -> tuple[Tensor, Tensor]:
    """Random tokens, and for each the token three before it; -100 where there is none."""
    tokens = torch.randint(0, VOCABULARY, (count, length), generator=source)
    targets = torch.full_like(tokens, -100)
    targets[:, BACK:] = tokens[:, :-BACK]
    return tokens, targets


def train(encoding: str) -> Transformer:
    model = Transformer(ModelConfig(vocabulary=VOCABULARY, encoding=encoding, length=TRAINED, dropout=0.0))
    optimiser = torch.optim.AdamW(model.parameters(), lr=3e-3, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=3e-3, total_steps=STEPS)
    source = generator(1337, "demo", "train")
    for _ in track(range(STEPS), description=f"{encoding:12}"):
        tokens, targets = batch(64, TRAINED, source)
        loss = torch.nn.functional.cross_entropy(model(tokens).flatten(0, 1), targets.flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()
        schedule.step()
    return model.eval()


@torch.no_grad()
def accuracy(model: Transformer, length: int) -> float:
    tokens, targets = batch(512, length, generator(1337, "demo", "test", length))
    scored = targets != -100
    return (model(tokens).argmax(dim=-1) == targets)[scored].float().mean().item()


def main() -> None:
    console = Console()
    console.print(
        f"Recall the token {BACK} steps back: {STEPS} steps at length {TRAINED}, chance {1 / VOCABULARY:.1%}."
    )
    models = {name: train(name) for name in ("rope", "sinusoidal")}
    for name, model in models.items():
        inside, outside = accuracy(model, TRAINED), accuracy(model, 2 * TRAINED)
        console.print(f"{name:12} {inside:7.1%} at length {TRAINED}   {outside:7.1%} at length {2 * TRAINED}")
    console.print("One seed and one learning rate: a first look, not a verdict.")


main()
