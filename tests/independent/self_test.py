#!/usr/bin/python3
"""Judges the judge: its masks against the contract's pictures, its gradients against §5, and its eye.

    self_test.py docs/contract.md [--count N]

An honest kernel, which rounds where §8 says, must pass every problem. The same with a fault planted in what it
wrote must not: the table shows in how many of the problems in which the fault changes anything it is seen, and
LEAST how many must be. Exit status 1 if the honest kernel is accused, or a fault is seen too rarely.
"""
import argparse
import dataclasses
import re
import sys

import skip_without_torch  # noqa: F401, must come first
import torch

import problems
from attention import INF, Problem, attention, visible
from compare import WRITTEN, Judged
from tolerance import Arithmetic, rounder, spread

LEAST = {"fp16": 0.7, "fp32": 0.75, "bf16": 0.45}   # of a 1 % error; of gross faults:
GROSS = 0.8                                         # a soft-cap of 10⁴, ignored, changes next to nothing


def pictures(contract):
    """Every ```mask block of the contract is what visible() computes; returns how many there are."""
    blocks = re.findall(r"```mask (.*)\n((?:[01 ]+\n)+)```", open(contract, encoding="utf-8").read())
    for words, rows in blocks:
        size = dict(re.findall(r"(n_q|n_k)=(\d+)", words))
        q, k = (torch.zeros(1, int(size[n]), 1, 1, dtype=torch.float64) for n in ("n_q", "n_k"))
        window = re.search(r"window=(-?\d+),(-?\d+)", words)
        p = Problem("fp64", q, k, k, causal="causal" in words, top_left="top-left" in words,
                    window=tuple(map(int, window.groups())) if window else None)
        assert visible(p)[0].long().tolist() == [list(map(int, r.split())) for r in rows.splitlines()], words
    return len(blocks)


def by_formula(judged):
    """The gradients as contract §5 writes them: name → tensor."""
    ch, p = judged.chain, judged.problem
    out = {"dq": (ch.scale * ch.dx @ ch.k).transpose(1, 2), "dk": ch.group_sum(ch.scale * ch.dx.mT @ ch.q),
           "dv": ch.group_sum(ch.p.mT @ ch.do)}
    if p.bias is not None:
        out["dbias"] = ch.bias_sum(ch.ds)
    if p.sinks is not None:
        out["dsinks"] = -(ch.p_sink * ch.d[..., 0]).sum((0, 2))
    return out


def honest(judged, arithmetic, seed):
    """What a kernel without faults writes: name → float64 tensor of numbers of the problem's type."""
    written = {n: t.clone() for n, t in judged.outputs.items()}
    if arithmetic.rounds:
        kernel = spread(judged.chain, arithmetic, 1, torch.Generator().manual_seed(seed), chance_grid=False)
        written.update({n: t[0] for n, t in kernel.items()})
    return written


def delta_off(j, w):
    ch, error = j.chain, 0.01 * j.chain.delta[..., None] * j.chain.p
    w["dq"] -= (ch.scale * (error * ch.h) @ ch.k).transpose(1, 2)
    w["dk"] -= ch.group_sum(ch.scale * (error * ch.h).mT @ ch.q)
    if "dbias" in w:
        w["dbias"] -= ch.bias_sum(error)
    if "dsinks" in w:
        w["dsinks"] -= 0.01 * (ch.p_sink * ch.delta).sum((0, 2))


def rescale_off(j, w):
    """One row's O, whose first half of the keys was rescaled 1 % wrong."""
    ch = j.chain
    b, h, i = (int(n) for n in torch.nonzero(ch.seen.sum(-1) == ch.seen.sum(-1).max())[0])
    half = ch.p.shape[-1] - ch.p.shape[-1] // 2
    w["o"][b, i, h] += 0.01 * ch.p[b, h, i, :half] @ ch.v[b, h, :half]


def times(name, factor):
    def fault(_, w):
        w[name] *= factor
    return fault


def lse_off(_, w): w["lse"] += 0.01
def zeros(_, w): w["o"] *= 0
def shuffled(_, w): w["o"] = w["o"].flip(-1)
def heads_permuted(_, w): w["o"] = w["o"].flip(2)
def mean_of_v(j, w): w["o"] = j.chain.v.mean(2, keepdim=True).expand(j.chain.o.shape).transpose(1, 2).clone()
def row_of_another(_, w): w["dq"][:, -1] = w["dq"][:, 0]
def one_nan(_, w): w["dk"][-1, -1, -1, -1] = float("nan")


def hidden_leaks(j, w):
    """An empty row's dQ, or an unseen key's dV, of 10⁻⁶ where 0 is due."""
    w["dq"] += 1e-6 * (~j.chain.seen.any(-1)).transpose(1, 2)[..., None]
    w["dv"] += 1e-6 * (w["dv"] == 0) * (j.outputs["dv"] == 0)


def empty_lse(_, w): w["lse"][w["lse"] == -INF] = -1e30


SMALL = {"Δ × 0.99": delta_off, "dQ × 1.01": times("dq", 1.01), "dK × 1.01": times("dk", 1.01),
         "dV × 1.01": times("dv", 1.01), "O × 1.01": times("o", 1.01), "one row's rescale 1 % off": rescale_off}
LARGE = {"LSE + 0.01": lse_off, "O = 0": zeros, "channels of O reversed": shuffled, "heads permuted": heads_permuted,
         "mean of V": mean_of_v, "dQ of another row": row_of_another, "one NaN": one_nan,
         "10⁻⁶ where 0 is due": hidden_leaks, "LSE −10³⁰ for −∞": empty_lse}


def other_window(p):
    left, right = p.window or (INF, INF)
    return {"window": (left + 1, right)}


# Misreadings of the contract: the fields of the problem that was solved instead.
MISREAD = {
    "the other alignment": lambda p: {"top_left": not p.top_left},
    "causal ignored": lambda p: {"causal": False},
    "window one too wide": other_window,
    "soft-cap ignored": lambda p: {"softcap": None},
    "scale without its sign": lambda p: {"scale": abs(p.x_scale)},
    "slopes without their sign": lambda p: {"alibi": p.alibi if p.alibi is None else p.alibi.abs()},
    "K's heads in reverse": lambda p: {"k": p.k.flip(2)},
    "dLSE ignored": lambda p: {"dlse": None},
    "a sink 0.1 off": lambda p: {"sinks": p.sinks if p.sinks is None else p.sinks + 0.1},
    "members run together": lambda p: {"cu_q": None, "cu_k": None} if p.alibi is None or p.alibi.dim() == 1 else {},
}


def misread(judged, change):
    """What an exact kernel writes that misread the contract; None if that changes nothing."""
    outputs = attention(dataclasses.replace(judged.problem, **change(judged.problem)))[0]
    same = all(torch.equal(outputs[n].nan_to_num(), t.nan_to_num()) for n, t in judged.outputs.items())
    return None if same else outputs


def accused(judged, written, arithmetic):
    numbers = {n: (t if n == "lse" else rounder(judged.problem.dtype)(t)).numpy().astype(
        "float32" if n == "lse" else WRITTEN[judged.problem.dtype]) for n, t in written.items()}
    return judged.faults(numbers, arithmetic, None)[0]


def wrong_forms(judged, arithmetic):
    """A missing file, an extra one, another shape, another dtype: all must be seen."""
    good = {n: t.numpy().astype("float32") for n, t in judged.outputs.items()}
    tried = [{n: t for n, t in good.items() if n != "dv"}, {**good, "p": good["o"]},
             {**good, "lse": good["lse"][..., None]}, {**good, "dq": good["dq"].astype("float64")}]
    assert not judged.faults(good, arithmetic, None)[0]
    for written in tried:
        assert judged.faults(written, arithmetic, None)[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("contract")
    parser.add_argument("--count", type=int, default=160, help="problems (default %(default)s)")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{pictures(arguments.contract)} masks drawn in the contract: as computed")

    faults = {**SMALL, **LARGE, **MISREAD}
    seen = {(fault, dtype): [0, 0] for fault in faults for dtype in LEAST}
    worst, innocent = 0.0, 0
    for index in range(arguments.count):
        draft, problem = problems.draw(2, problems.ALONE_AND_PAIRS + index)
        if draft.poison or problem.do is None or 0 in (problem.q.numel(), problem.k.numel()):
            continue
        judged = Judged(draft, problem, *attention(problem))
        for name, exact in by_formula(judged).items():
            size = max(1.0, float(exact.abs().max()))
            worst = max(worst, float((exact - judged.outputs[name]).abs().max()) / size)
        if problem.dtype == "fp64":
            continue
        arithmetic = Arithmetic(problem.dtype)
        clean = honest(judged, arithmetic, index)
        for fault in accused(judged, clean, arithmetic):
            sys.exit(f"{judged}: an honest kernel is accused: {fault}")
        innocent += 1
        for name, plant in {**SMALL, **LARGE}.items():
            planted = {n: t.clone() for n, t in clean.items()}
            plant(judged, planted)
            if any(not torch.equal(planted[n], clean[n]) for n in clean):
                seen[name, problem.dtype][0] += bool(accused(judged, planted, arithmetic))
                seen[name, problem.dtype][1] += 1
        for name, change in MISREAD.items():
            written = misread(judged, change)
            if written:
                seen[name, problem.dtype][0] += bool(accused(judged, written, arithmetic))
                seen[name, problem.dtype][1] += 1
        if problem.dtype == "fp32":
            wrong_forms(judged, arithmetic)
    print(f"autograd against the formulas of §5: {worst:.1e} of the largest element at most")
    print(f"honest kernels accused: 0 of {innocent}\n")
    print(f"{'fault seen / planted':28}" + "".join(f"{d:>10}" for d in LEAST))
    for fault in faults:
        print(f"{fault:28}" + "".join(f"{'%d/%d' % tuple(seen[fault, d]):>10}" for d in LEAST))
    blind = [f"{f} in {d}" for (f, d), (caught, of) in seen.items()
             if not of or caught < of * (LEAST[d] if f in SMALL else GROSS)]
    if worst > 1e-9 or blind:
        sys.exit(f"not seen often enough: {', '.join(blind) or 'nothing'}; formulas off by {worst:.1e}")


if __name__ == "__main__":
    main()
