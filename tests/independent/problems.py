"""Random problems over the whole contract: problem number i of a seed is always the same one.

First every option alone, then every pair of options, then several together. An option is a function that
changes a Draft, called in the order of OPTIONS.
"""
import itertools
import math

import numpy as np
import torch

from attention import INF, Problem, visible
from tolerance import TORCH

SIZES = [1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 47, 48, 49, 64, 65]
CHANNELS = [1, 2, 3, 4, 8, 16, 17, 24, 32]
DTYPES = ["fp16", "fp32", "bf16", "fp16", "fp32", "bf16", "fp64"]
KINDS = ["normal", "positive", "wide", "constant V", "flat", "outliers", "q = k"]


class Draft:
    """A problem being drawn: sizes first, options after, numbers last."""

    def __init__(self, rng, dtype, options):
        self.rng, self.dtype, self.options = rng, dtype, options
        pick = self.pick
        self.b, self.n_q, self.n_k = pick([1, 1, 2, 3]), pick(SIZES), pick(SIZES)
        self.h_kv, self.group = pick([1, 2, 3]), 1
        self.d = self.d_v = pick(CHANNELS)
        if rng.random() < 0.04:  # beyond one tile of 256
            self.b, self.h_kv, self.n_q, self.n_k, self.d = 1, 1, pick([130, 257, 260]), pick([255, 257, 300]), 4
            self.d_v = 4
        self.kind = pick(KINDS)
        self.fields, self.poison, self.files, self.layout = {}, None, {}, "bnhd"
        self.forward_only = rng.random() < 0.05

    def pick(self, values):
        return values[int(self.rng.integers(len(values)))]

    def normal(self, *shape):
        return self.rng.normal(size=shape)


def grouped_heads(t): t.group = t.pick([2, 3, 4])
def other_d_v(t): t.d_v = t.pick([c for c in CHANNELS if c != t.d])
def soft_cap(t): t.fields["softcap"] = f32(t.pick([0.5, 1.0, 5.0, 30.0, 1e4]))
def causal(t): t.fields["causal"] = True
def top_left(t): t.fields["top_left"] = True
def d_lse(t): t.fields["dlse"] = True
def bhnd(t): t.layout = "bhnd"
def zero_size(t): t.zero = t.pick(["n_q", "n_k", "b"])
def huge(t): t.kind = "huge"
def forward_only(t): t.forward_only = True


def scale(t):
    t.fields["scale"] = f32(t.pick([0.0, -1.0, -0.37, 0.01, 1.0, 2.5, -1 / math.sqrt(t.d), float(t.normal())]))


def mixed_files(t):
    names = "q", "k", "v", "do", "dlse", "bias", "alibi", "sinks"
    t.files = {name: t.pick(["<f4", "<f8"]) for name in names}


def bias(t):
    t.fields["bias"] = t.pick(["full", "full", "row", "column", "head", "batch", "one", "2d", "1d", "0d"])


def hiding_bias(t):
    bias(t)
    t.hide = t.pick([0.1, 0.5, 0.9, "rows", "columns"])


def alibi(t): t.fields["alibi"] = "heads"
def alibi_batch(t): t.fields["alibi"] = "batch"
def sinks(t): t.fields["sinks"] = True
def packed(t): t.fields["packed"] = True
def non_finite(t): t.poison = True


def window(t):
    side = lambda: t.pick([INF, 0, 1, 2, 5, 17, 100, 2**59, -1, -2, -6, -40])
    t.fields["window"] = t.pick([(side(), side()), (side(), side()), (abs(side()), abs(side())), (7, -8)])


OPTIONS = {
    "grouped heads": grouped_heads, "d ≠ d_v": other_d_v, "scale": scale, "soft-cap": soft_cap, "bias": bias,
    "bias −∞": hiding_bias, "ALiBi": alibi, "ALiBi [B, H]": alibi_batch, "sinks": sinks, "causal": causal,
    "top-left": top_left, "window": window, "packed": packed, "dLSE": d_lse, "bhnd": bhnd, "mixed files": mixed_files,
    "zero size": zero_size, "huge scores": huge, "NaN, Inf": non_finite, "forward only": forward_only}


def f32(value):
    return float(np.float32(value))


def choose(rng, index):
    """The options of problem number index."""
    alone = [()] + [(o,) for o in OPTIONS]
    pairs = list(itertools.combinations(OPTIONS, 2))
    if index < len(alone):
        return alone[index]
    if index < len(alone) + len(pairs):
        return pairs[index - len(alone)]
    some = [o for o in OPTIONS if rng.random() < 0.35]
    rare = {"zero size", "huge scores", "NaN, Inf", "forward only"}  # they leave less to see of the others
    return tuple(o for o in some if o not in rare or rng.random() < 0.25)


ALONE_AND_PAIRS = 1 + len(OPTIONS) + len(OPTIONS) * (len(OPTIONS) - 1) // 2


def draw(seed, index):
    """Draft (what was asked for) and Problem (with numbers)."""
    rng = np.random.default_rng([seed, index])
    options = choose(rng, index)
    t = Draft(rng, DTYPES[index % len(DTYPES)], options)
    for name in OPTIONS:
        if name in options:
            OPTIONS[name](t)
    if "zero size" in options:
        setattr(t, t.zero, 0)
    if t.fields.get("alibi") is None and t.fields.get("window") is None and not t.fields.get("causal"):
        if "top-left" in options:
            t.fields["alibi"] = "heads"  # something for the alignment to act on
    return t, with_numbers(t)


def with_numbers(t):
    f = t.fields
    cu_q, cu_k = pack(t) if f.get("packed") else (None, None)
    h = t.h_kv * t.group
    q, k, v, do = data(t, h)
    rounded = lambda array: None if array is None else rounded_to(t.dtype, array)
    fp32 = lambda array: torch.tensor(array if t.dtype == "fp64" else array.astype(np.float32), dtype=torch.float64)
    slopes_shape = (h,) if f.get("alibi") == "heads" else (len(cu_q) - 1 if cu_q else t.b, h)
    problem = Problem(
        t.dtype, rounded(q), rounded(k), rounded(v), None if t.forward_only else rounded(do),
        bias=rounded(draw_bias(t, h)),
        alibi=rounded(np.abs(t.normal(*slopes_shape)) * 0.3 * t.pick([1, 1, -1])) if f.get("alibi") else None,
        sinks=rounded(t.normal(h) * t.pick([1, 5])) if f.get("sinks") else None,
        cu_q=cu_q, cu_k=cu_k, scale=f.get("scale"), softcap=f.get("softcap"), causal=f.get("causal", False),
        top_left=f.get("top_left", False), window=f.get("window"))
    if f.get("dlse") and not t.forward_only:
        problem.dlse = fp32(t.normal(t.b, h, t.n_q) * t.pick([1, 1, 10]))
    if t.poison:
        t.poison = poison(t, problem)
    return problem


def rounded_to(dtype, array):
    """By way of fp32, which every file holds exactly, but in fp64."""
    if dtype == "fp64":
        return torch.tensor(array, dtype=torch.float64)
    return torch.tensor(np.asarray(array, dtype=np.float32)).to(TORCH[dtype]).double()


def data(t, h):
    shapes = (t.b, t.n_q, h, t.d), (t.b, t.n_k, t.h_kv, t.d), (t.b, t.n_k, t.h_kv, t.d_v), (t.b, t.n_q, h, t.d_v)
    q, k, v, do = (t.normal(*s) for s in shapes)
    if t.kind == "positive":      # no cancellation: relative errors stand out
        q, k, v, do = q * 0.3, k * 0.3, 1 + 0.2 * np.abs(v), 1 + 0.2 * np.abs(do)
    if t.kind == "wide":
        q, k, v = q * 2, k * 2, v * 5
    if t.kind == "constant V":    # the exact dS is 0: what is left of D shows
        k, v, do = 1 + 0.1 * k, np.full_like(v, 0.7), 1 + 0.1 * do
    if t.kind == "flat":
        q = q * 0
    if t.kind == "outliers":
        q, k = (a * np.where(t.rng.random(a.shape) < 0.01, 10, 1) for a in (q, k))
    if t.kind == "q = k":
        n = min(t.n_q, t.n_k)
        q[:, :n] = np.repeat(k[:, :n], t.group, axis=2)
    if t.kind == "huge":          # |scaled scores| of about 1e4, either sign
        size = math.sqrt(1e4 / math.sqrt(t.d) / (abs(t.fields.get("scale") or 1 / math.sqrt(t.d)) + 1e-3))
        size, offset = min(size, 300.0), t.pick([-1, 0, 1])
        q, k = size * (0.2 * q + 1), size * (0.2 * k + offset)
    return q, k, v, do


def pack(t):
    """cu_seqlens of one to five members, some of them empty, some with slack after the last."""
    t.b, members = 1, t.pick([1, 2, 3, 5])
    offsets = []
    for n in (t.n_q, t.n_k):
        end = n - (int(t.rng.integers(n + 1)) // 3 if t.rng.random() < 0.5 else 0)
        cuts = sorted(int(c) for c in t.rng.integers(0, end + 1, size=members - 1))
        if cuts and t.rng.random() < 0.4:
            cuts[0] = t.pick([0, cuts[-1]])  # an empty member, first or inside
        offsets.append([0] + sorted(cuts) + [end])
    return offsets


def draw_bias(t, h):
    shape = {None: None, "full": (t.b, h, t.n_q, t.n_k), "row": (1, 1, t.n_q, 1), "column": (t.b, 1, 1, t.n_k),
             "head": (h, 1, 1), "batch": (t.b, 1, t.n_q, t.n_k), "one": (1, 1, 1, 1), "2d": (t.n_q, t.n_k),
             "1d": (t.n_k,), "0d": ()}[t.fields.get("bias")]
    if shape is None:
        return None
    numbers = np.asarray(t.normal(*shape) * t.pick([0.5, 2]))
    hide = getattr(t, "hide", None)
    if hide == "rows" and numbers.ndim > 1:
        numbers[..., ::2, :] = -INF
    elif hide == "columns" and numbers.ndim > 0:
        numbers[..., 1::2] = -INF
    elif isinstance(hide, float):
        numbers[t.rng.random(numbers.shape) < hide] = -INF
    return numbers


def poison(t, p):
    """Puts NaN or Inf somewhere; returns where. 'hidden' writes NaN wherever it must not matter."""
    where = [n for n in ("q", "k", "v", "do", "dlse", "bias", "alibi", "sinks") if getattr(p, n) is not None]
    where = t.pick(["hidden"] * (len(where) // 2) + where)
    if where != "hidden":
        target, value = getattr(p, where), t.pick([math.nan, INF, -INF])
        if target.numel():
            target.view(-1)[int(t.rng.integers(target.numel()))] = value
        return f"{value} in {where}"
    sees, _, row_member = visible(p)
    sees = sees.expand(p.q.shape[0], p.q.shape[2], p.q.shape[1], p.k.shape[1])
    if p.bias is not None:
        sees = sees & (p.bias != -INF)
    h_kv = p.k.shape[2]
    blind = ~sees.any(-1)                                                   # [B, H_q, N_q]
    unseen = ~sees.reshape(sees.shape[0], h_kv, t.group, *sees.shape[2:]).any(2).any(2)  # [B, H_kv, N_k]
    for tensor, at in ((p.q, blind), (p.do, blind), (p.k, unseen), (p.v, unseen)):
        if tensor is not None:
            tensor[at.transpose(1, 2)] = math.nan
    if p.dlse is not None:
        slack = (row_member < 0).expand(blind.shape)
        p.dlse[blind if p.sinks is None else blind & slack] = math.nan
    return "NaN wherever it must not matter"
