"""Greedy decoding of 256 tokens with the cache, beside x-transformers and transformers."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

from benchmarks.measure import Row, compare, in_turns
from ordinate import ModelConfig, Transformer, generate
from ordinate.training.environment import keep_memory

DIM, HEADS, LAYERS, VOCABULARY, COUNT = 256, 8, 4, 256, 256


def models() -> dict[str, object]:
    config = ModelConfig(
        vocabulary=VOCABULARY, encoding="rope", dim=DIM, heads=HEADS, layers=LAYERS, length=512, dropout=0.0
    )
    theirs = TransformerWrapper(
        num_tokens=VOCABULARY,
        max_seq_len=512,
        use_abs_pos_emb=False,
        attn_layers=Decoder(
            dim=DIM, depth=LAYERS, heads=HEADS, attn_dim_head=DIM // HEADS, rotary_pos_emb=True,
            rotary_emb_dim=DIM // HEADS, attn_flash=True,
        ),
    )  # fmt: skip
    llama = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=VOCABULARY, hidden_size=DIM, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
            intermediate_size=DIM * 8 // 3, max_position_embeddings=512, attn_implementation="sdpa",
        )
    )  # fmt: skip
    return {
        "ours": Transformer(config),
        "x-transformers": AutoregressiveWrapper(theirs).eval(),
        "transformers": llama.eval(),
    }


def runners(batch: int, count: int) -> dict[str, object]:
    networks = models()
    prompt = torch.randint(1, VOCABULARY, (batch, 1), generator=torch.Generator().manual_seed(0))
    mine, theirs, llama = networks["ours"], networks["x-transformers"], networks["transformers"]

    def x_transformers() -> None:
        with torch.inference_mode():
            theirs.generate(prompt, count, temperature=0.0, cache_kv=True)  # type: ignore[attr-defined]

    def transformers() -> None:
        with torch.inference_mode():
            llama.generate(  # type: ignore[attr-defined]
                prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=count, min_new_tokens=count,
                do_sample=False, use_cache=True, pad_token_id=0,
            )  # fmt: skip

    return {
        "ours": lambda: generate(mine, prompt, count),
        "x-transformers": x_transformers,
        "transformers": transformers,
    }  # type: ignore[arg-type]


def run(rounds: int = 8, tiny: bool = False) -> dict[str, list[Row]]:
    torch.set_num_threads(1)
    keep_memory()
    bounds = {1: ((">= 2.0", "3"), (">= 1.5", "2")), 16: ((">= 1.5", "2.2"), (">= 1.1", "1.3"))}
    result, count = {}, 4 if tiny else COUNT
    for batch, ((required_x, goal_x), (required_t, goal_t)) in bounds.items():
        times = in_turns(runners(batch, count), rounds=rounds, warmup=1)  # type: ignore[arg-type]
        result[f"Times faster: greedy decoding of {count} tokens, d{DIM}, {LAYERS} layers, batch {batch}"] = [
            compare(times, "ours", "x-transformers", required=required_x, goal=goal_x, speed=True),
            compare(times, "ours", "transformers", required=required_t, goal=goal_t, speed=True),
        ]
    return result
