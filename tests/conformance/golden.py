#!/usr/bin/env python3
"""Prints golden_gates.inc: what gates.py, the executable form of docs/gates.md, says of some problems.

    python3 tests/conformance/golden.py > tests/unit/golden_gates.inc
    python3 tests/conformance/golden.py --check tests/unit/golden_gates.inc

The C++ of the suite is written from the same page but shares no code with this; gates_test.cpp compares the two. The
inputs are made here again, from data.cpp's description, so the generator is checked as well. Needs numpy.
"""
import os
import re
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import gates  # noqa: E402

SEED = 7
Q, K, V, BIAS, SINKS, DO, DLSE = range(7)

PROBLEMS = [
    "nq=33 nk=45 d=16 dv=24",
    "hq=2 nq=40 d=32 causal",
    "hq=2 nq=45 nk=30 d=16 causal dlse",
    "hq=4 hkv=2 nq=19 nk=37 d=16 window=9,4 softcap=2 sinks dlse",
    "hq=2 nq=35 nk=45 d=16 bias=1,h,q,k scale=-0.3",
    "hq=2 nq=35 nk=45 d=16 bias=1,1,1,k softcap=5 causal align=top-left",
    "hq=3 hkv=1 nq=30 nk=20 d=16 bias=1,1,q,1 sinks causal scale=2",
    "hq=2 nq=35 nk=45 d=16 alibi=h causal",
    "hq=2 nq=35 nk=45 d=16 bias=1,h,1,k alibi=h softcap=3 window=20,9",
    "nq=40 nk=50 d=16 scale=1e5 window=2,0",                       # large logits: where P and LSE are bounded otherwise
    "nq=40 nk=50 d=16 scale=1e8 causal",
    "nq=40 nk=50 d=16 scale=1e5 window=0,0",                       # one key a row
    "nq=40 nk=50 d=16 scale=1e5 window=0,0 sinks",
]


def mix(x):
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def bits(stream, index):
    with np.errstate(over="ignore"):
        return mix(mix(mix(np.uint64(SEED) + np.uint64(0x9E3779B97F4A7C15)) + np.uint64(stream)) + index)


def normal(stream, index):
    total = np.zeros(index.shape, np.uint64)
    for word in range(3):
        b = bits(stream, np.uint64(3) * index + np.uint64(word))
        for n in range(4):
            total += (b >> np.uint64(16 * n)) & np.uint64(0xFFFF)
    return (total.astype(np.float64) + 6) * 2.0**-16 - 6


def tensor(stream, heads, tokens, channels):
    h, t, c = np.meshgrid(np.arange(heads), np.arange(tokens), np.arange(channels), indexing="ij")
    return normal(stream, ((t << 24) + (h << 12) + c).astype(np.uint64))


def rounded(x, dtype):
    """ρ with one rounding. (gates.rnd reaches bf16 by way of float32, which may round twice.)"""
    if dtype != "bf16":
        return gates_rnd(x, dtype)
    b = np.ascontiguousarray(x, np.float64).view(np.uint64)
    b = b + np.uint64((1 << 44) - 1) + ((b >> np.uint64(45)) & np.uint64(1))
    return (b & ~np.uint64((1 << 45) - 1)).view(np.float64)


gates_rnd, gates.rnd = gates.rnd, rounded


def build(text, dtype):
    f = dict((w.split("=", 1) + [True])[:2] for w in text.split())
    hq = int(f.get("hq", 1))
    hkv, nq, d = int(f.get("hkv", hq)), int(f["nq"]), int(f["d"])
    nk, dv = int(f.get("nk", nq)), int(f.get("dv", d))
    ρ = lambda x: rounded(x, dtype)
    i, j = np.arange(nq)[:, None], np.arange(nk)[None, :]
    diagonal = i if f.get("align") == "top-left" else i + nk - nq
    keep = np.ones((nq, nk), bool)
    if "causal" in f:
        keep &= j <= diagonal
    if "window" in f:
        left, right = map(int, f["window"].split(","))
        keep &= (j >= diagonal - left) & (j <= diagonal + right)
    case = gates.Case(ρ(tensor(Q, hq, nq, d)), ρ(tensor(K, hkv, nk, d)), ρ(tensor(V, hkv, nk, dv)),
                      ρ(tensor(DO, hq, nq, dv)), float(f.get("scale", 1 / np.sqrt(d))), keep[None])
    sees = keep.any(1)[None, :, None]
    case.q, case.do = case.q * sees, case.do * sees               # the suite's data has NaN there
    if "bias" in f:
        full = dict(h=hq, q=nq, k=nk)
        shape = [full.get(axis, 1) for axis in f["bias"].split(",")[1:]]
        case.bias = ρ(normal(BIAS, np.arange(np.prod(shape)).astype(np.uint64))).reshape(shape)
    if "alibi" in f:
        slopes = ρ(2.0**(-8 * (np.arange(hq) + 1.0) / hq)).reshape(hq, 1, 1)
        case.alibi = -slopes * abs(j - (i if f.get("align") == "top-left" else i + nk - nq))
    if "softcap" in f:
        case.softcap = float(f["softcap"])
    if "sinks" in f:
        case.sink = ρ(normal(SINKS, np.arange(hq).astype(np.uint64))).reshape(hq, 1, 1)
    if "dlse" in f:
        case.dlse = normal(DLSE, np.arange(hq * nq).astype(np.uint64)).astype(np.float32).astype(np.float64)
        case.dlse = case.dlse.reshape(hq, nq, 1)
    return case


def lines():
    names = dict(O="O", LSE="LSE", dQ="dQ", dK="dK", dV="dV", dB="dBias", dSink="dSinks")
    yield from ("// Made by tests/conformance/golden.py: problem, materialised, then for each output the largest and the mean\n"
          "// tolerance of gate 1 over the elements that a visible pair contributes to, and for gates 2 and 3 the limits.\n"
          "// clang-format off").split("\n")
    for text in PROBLEMS:
        for dtype in ("fp16", "bf16", "fp32"):
            for materialised in (False, True):
                c = build(text, dtype)
                with np.errstate(all="ignore"):
                    x = gates.expect(c, dtype, materialised=materialised)
                seen = np.broadcast_to(c.keep, x.r.P.shape)
                rows, keys = seen.any(2)[..., None], c.over_group(seen.any(1)[..., None])
                part = dict(O=rows, LSE=rows | (c.sink is not None), dQ=rows, dK=keys > 0, dV=keys > 0,
                            dB=None if c.bias is None else c.over_bias(seen.astype(float)) > 0, dSink=None)
                gate1 = []
                for k, name in names.items():
                    if k not in x.tol:
                        continue
                    tol = x.tol[k] if part[k] is None else x.tol[k][np.broadcast_to(part[k], x.tol[k].shape)]
                    gate1.append(f"{{Output::{name}, {tol.max():.12g}, {tol.mean():.12g}}}")
                # A stored score off by more than 1 leaves it to chance which key wins: gate 1 alone applies.
                chance = materialised and gates.U[dtype] * abs(c.visible(x.r.s)).max() > 1
                x.rms_tol = {} if chance else {k: v for k, v in x.rms_tol.items() if np.isfinite(v)}
                x.gain_tol = {} if chance else {k: v for k, v in x.gain_tol.items() if np.isfinite(v)}
                enough = [k for k in x.rms_tol if k != "D" and getattr(x.r, k).size >= 256]
                gate2 = [f"{{Output::{names[k]}, {x.rms_tol[k]:.12g}}}" for k in enough]
                gate3 = [f'{{"{dict(delta="Δ").get(k, k)}", {g:.12g}}}' for k, g in x.gain_tol.items()]
                yield from (f'{{"{text} dtype={dtype}", {str(materialised).lower()},\n {{{", ".join(gate1)}}},\n'
                      f' {{{", ".join(gate2)}}},\n {{{", ".join(gate3)}}}}},').split("\n")



NUMBER = re.compile(r"-?\d\.?\d*(?:e[-+]?\d+)?(?=[},])")


def differences(old, new):
    """Lines that differ in more than the last digits of their numbers, which vary with numpy's order of summation."""
    if len(old) != len(new):
        yield f"{len(old)} lines, expected {len(new)}"
    for n, (a, b) in enumerate(zip(old, new), 1):
        x, y = ([float(v) for v in NUMBER.findall(line)] for line in (a, b))
        if NUMBER.sub("#", a) != NUMBER.sub("#", b) or not np.allclose(x, y, rtol=1e-8, atol=0):
            yield f"line {n}: {a}\nexpected: {b}"


def main():
    if sys.argv[1:2] != ["--check"]:
        print("\n".join(lines()))
        return
    with open(sys.argv[2], encoding="utf-8") as file:
        found = list(differences(file.read().splitlines(), list(lines())))
    if found:
        sys.exit("\n".join(found[:5]) + f"\n{len(found)} differences: make {sys.argv[2]} again, as golden.py says")


main()
