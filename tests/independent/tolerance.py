"""How far a correct implementation may be from float64: derived in docs/independent_judge.md.

`Chain` is contract §5 written out, product by product, which autograd did not need: rounding happens
between its steps. `worst_case` bounds every element; `spread` rounds the chain at random scales as the
contract's §8 lets a kernel round, to see how much of an error may point along a known direction.
"""
import math
from dataclasses import dataclass

import torch

from attention import heads_first

TORCH = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32, "fp64": torch.float64}
UNIT = {"fp16": 2.0**-11, "bf16": 2.0**-8, "fp32": 2.0**-24, "fp64": 2.0**-52}  # fp64: the judge rounds too
TINY = {"fp16": 2.0**-25, "bf16": 2.0**-126, "fp32": 2.0**-126, "fp64": 2.0**-1022}  # underflow


@dataclass(frozen=True)
class Arithmetic:
    """What an implementation declares of its arithmetic (`list --json`)."""
    dtype: str
    materialised: bool = False
    eps_exp: float = 2.0**-22
    eps_tanh: float = 2.0**-22

    @property
    def u(self):
        return UNIT[self.dtype]

    @property
    def accumulate(self):
        return UNIT["fp64"] if self.dtype == "fp64" else UNIT["fp32"]

    @property
    def rounds(self):
        return self.dtype in ("fp16", "bf16")


def finite(tensor):
    return torch.nan_to_num(tensor, nan=0.0, posinf=0.0, neginf=0.0)


class Chain:
    """Contract §4 and §5 for one problem, [B, H_q, N, c] throughout; what is not finite counts as 0."""

    def __init__(self, problem, outputs, terms):
        self.problem, h = problem, problem.q.shape[2]
        self.q, self.k, self.v = (finite(heads_first(t, h)) for t in (problem.q, problem.k, problem.v))
        self.seen = ~terms.hidden & terms.lse.isfinite()[..., None]  # rows that are NaN are not bounded
        self.scale, self.cap = problem.x_scale, problem.softcap
        self.x, self.c, self.s = (finite(t) for t in (terms.x, terms.c, terms.s))
        self.added, self.lse = finite(terms.added), finite(terms.lse)
        self.t = torch.tanh(self.x / self.cap) if self.cap else torch.zeros_like(self.x)
        self.h = 1 - self.t**2
        self.log_p = torch.where(self.seen, self.s - self.lse[..., None], torch.full_like(self.s, -math.inf))
        self.p = torch.exp(self.log_p)
        self.z, self.has_sink = finite(terms.sink), torch.isfinite(terms.sink)
        self.p_sink = torch.where(self.has_sink, torch.exp(self.z - self.lse), torch.zeros_like(self.z))
        self.lone = ((self.seen.sum(-1) == 1) & ~self.has_sink)[..., None]  # rows whose one key weighs exactly 1
        self.o = self.p @ self.v
        if problem.do is None:
            return
        self.do = finite(heads_first(problem.do, h))
        self.dlse = torch.zeros_like(self.lse) if problem.dlse is None else finite(problem.dlse)
        self.dp = self.do @ self.v.mT
        self.delta = (self.do * self.o).sum(-1)
        self.d = (self.delta - self.dlse)[..., None]
        self.ds = self.p * (self.dp - self.d)
        self.dx = self.ds * self.h

    def group_sum(self, per_query_head):
        """[…, B, H_q, N_k, c] → […, B, N_k, H_kv, c], summed over the heads that share a key/value head."""
        *front, h, n, c = per_query_head.shape
        h_kv = self.problem.k.shape[2]
        return per_query_head.reshape(*front, h_kv, h // h_kv, n, c).sum(-3).transpose(-3, -2)

    def bias_sum(self, pairs):
        """[…, B, H_q, N_q, N_k] → […, the bias's shape]."""
        shape = self.problem.bias.shape
        front = pairs.dim() - 4
        padded = (1,) * (4 - len(shape)) + tuple(shape)
        axes = [front + a for a in range(4) if padded[a] == 1]
        summed = pairs.sum(axes, keepdim=True) if axes else pairs
        return summed.reshape(pairs.shape[:front] + shape)


def worst_case(chain, arithmetic, rounding=True):
    """Name → bound on |error| of every element. rounding=False: of all but the roundings to 16 bits."""
    ch, a = chain, arithmetic
    n_q, n_k, d, d_v = ch.q.shape[2], ch.k.shape[2], ch.q.shape[3], ch.v.shape[3]
    v = a.accumulate
    u, eta = (a.u, TINY[a.dtype]) if rounding else (0.0, 0.0)
    w = u if a.materialised and a.rounds else 0.0   # S, P, dP and dS rest in the problem's type

    def g(n):                                       # summing n products, in any order
        return (n + 8) * v

    # ε: error of s − m, and with it of ln P.
    e_x = abs(ch.scale) * g(d) * (ch.q.abs() @ ch.k.abs().mT) + (4 * v + 2 * w) * ch.x.abs()
    e_c = e_x
    if ch.cap:
        e_c = (ch.h + e_x / ch.cap).clamp(max=1) * e_x + (a.eps_tanh + 4 * v + w) * ch.c.abs()
    e_s = e_c + 2 * v * (ch.c.abs() + ch.added) + w * ch.s.abs()
    if ch.added.any():                              # c + bias rests too, before ALiBi
        e_s = e_s + w * (ch.s.abs() + ch.c.abs() + ch.added)
    rescales = 2 + n_k // 16
    off = (ch.s - ch.lse[..., None]).abs()
    eps = torch.where(ch.seen, e_s + 4 * v * (2 + off + ch.lse[..., None].abs()) + rescales * (a.eps_exp + 4 * v),
                      torch.zeros_like(e_s))
    eps_z = (4 * v * (2 + (ch.z - ch.lse).abs() + ch.lse.abs()) + rescales * (a.eps_exp + 4 * v)) * ch.has_sink
    move = lambda log_p, e, most: torch.where(  # |e^(log P ± e) − P|, capped at e^most
        e < 1, torch.exp(log_p) * torch.expm1(e), torch.exp((log_p + e).clamp(max=most)))

    # LSE moves as its scores do on average, and no more than the most of them.
    log_z = torch.where(ch.has_sink, ch.z - ch.lse, torch.full_like(ch.z, -math.inf))
    average = move(ch.log_p, eps, 300).sum(-1) + move(log_z, eps_z, 300)
    most = torch.cat([eps, eps_z[..., None]], -1).amax(-1)
    lam = torch.minimum(average, most) + g(n_k)
    nothing = ~(ch.seen.any(-1) | ch.has_sink)
    bounds = {"lse": torch.where(nothing, torch.zeros_like(lam), lam + 4 * v * ch.lse.abs())}

    # O = P V: P lies in [0, 1]; a lone key weighs exactly 1.
    p, lam = ch.p, lam[..., None]
    e_p = torch.where(ch.lone, torch.zeros_like(p), move(ch.log_p, eps + lam, 0).clamp(max=1))
    b_o = ((u * p + e_p + g(n_k) * (p + e_p)) * (1 + 4 * u) + eta * ch.seen) @ ch.v.abs() + u * ch.o.abs() + eta
    any_seen = ch.seen.any(-1, keepdim=True)
    b_o = b_o * any_seen
    bounds["o"] = b_o.transpose(1, 2)
    if ch.problem.do is None:
        return bounds

    # Backward: P anew from LSE, D from the O that was written.
    e_p = move(ch.log_p, eps + lam + 4 * v * ch.lse[..., None].abs(), 300) + (u * p + eta) * ch.seen
    size = ch.do.abs() @ ch.v.abs().mT
    e_dp = g(d_v) * size + (2 * v + w) * ch.dp.abs()
    e_d = (ch.do.abs() * b_o).sum(-1) + g(d_v) * (ch.do * ch.o).abs().sum(-1)
    e_d = (e_d + 4 * v * (ch.delta.abs() + ch.dlse.abs()))[..., None] + w * (p * ch.dp.abs()).sum(-1, keepdim=True)
    e_ds = (e_p * (ch.dp - ch.d).abs() + (p + e_p) * (e_dp + e_d)) * ch.seen + (2 * v + w) * ch.ds.abs()
    e_dx = e_ds
    if ch.cap:
        e_t = e_c / ch.cap + a.eps_tanh
        e_dx = e_ds * ch.h + (ch.ds.abs() + e_ds) * (2 * ch.t.abs() * e_t + e_t**2 + 4 * v + w)
    scaled = 1 / abs(ch.scale) if ch.scale else 0.0  # a kernel may store dS, or scale·dS; materialised: both
    underflow = eta * (1 + scaled if a.materialised else max(1.0, scaled))
    e_dx = (e_dx * (1 + 4 * u) + u * ch.dx.abs() + underflow) * ch.seen
    group = ch.q.shape[1] // ch.problem.k.shape[2]

    def done(sum_bound, exact):                     # the output itself is rounded once
        return sum_bound * (1 + 4 * u) + u * exact.abs() + eta * (sum_bound > 0)

    scale, terms_k = abs(ch.scale), group * n_q
    dq = ch.scale * ch.dx @ ch.k
    bounds["dq"] = done(scale * (e_dx + g(n_k) * ch.dx.abs()) @ ch.k.abs(), dq).transpose(1, 2)
    dk, dv = ch.group_sum(ch.scale * ch.dx.mT @ ch.q), ch.group_sum(p.mT @ ch.do)
    bounds["dk"] = done(ch.group_sum(scale * (e_dx + g(terms_k) * ch.dx.abs()).mT @ ch.q.abs()), dk)
    bounds["dv"] = done(ch.group_sum((e_p + g(terms_k) * p).mT @ ch.do.abs()), dv)
    if ch.problem.bias is not None:
        n = ch.ds.numel() // max(1, ch.problem.bias.numel())
        bounds["dbias"] = done(ch.bias_sum(e_ds + (u + g(n)) * ch.ds.abs() + eta * ch.seen), ch.bias_sum(ch.ds))
    if ch.problem.sinks is not None:
        dz = ch.p_sink * ch.d[..., 0]
        e_z = move(log_z, eps_z + lam[..., 0], 300)
        e = e_z * ch.d[..., 0].abs() + (ch.p_sink + e_z) * e_d[..., 0] + g(n_q * ch.q.shape[0]) * dz.abs()
        bounds["dsinks"] = done(e.sum((0, 2)), dz.sum((0, 2)))
    return bounds


def rounder(dtype):
    def rho(tensor, scale=1.0):
        return (tensor * scale).float().to(TORCH[dtype]).double() / scale
    return rho


def spread(chain, arithmetic, count, generator, chance_grid=True):
    """count kernels that round where §8 says and nowhere else: name → [count, …the output's shape].

    A kernel holds P and dS at a scale of its own (e^(s − m) for the m it has then, say), which moves
    the grid that they are rounded on: half of the kernels have one scale for all rows, half one a row.
    """
    ch, rho = chain, rounder(arithmetic.dtype)
    rows = (count,) + ch.lse.shape + (1,)
    one = 2 ** torch.rand((count, 1, 1, 1, 1), generator=generator, dtype=torch.float64)
    each = 2 ** torch.rand(rows, generator=generator, dtype=torch.float64)
    odd = (torch.arange(count) % 2 == 1).reshape(count, 1, 1, 1, 1)
    a = torch.where(odd, one, each)
    a = torch.where(ch.lone, torch.ones(()).double(), a)
    other = 3 - a                                   # what else is rounded need not share P's grid
    p, dp = ch.p, ch.dp if ch.problem.do is not None else None
    if arithmetic.materialised:
        s = rho(ch.s + rho(ch.c, other) - ch.c + (rho(ch.x, a) - ch.x) * ch.h, 3 / a)
        e = torch.where(ch.seen, torch.exp(s - ch.lse[..., None]), torch.zeros_like(s))
        p = e / (e.sum(-1, keepdim=True) + ch.p_sink[..., None]).clamp(min=1e-300)
        dp = rho(dp, a) if dp is not None else None
    p_hat = rho(p, a)
    # Where V hardly varies all of a row's O rounds one way, up or down: seldom, or on a grid of chance.
    o = rho(p_hat @ ch.v, other if chance_grid else 1.0)
    samples = {"o": o.transpose(2, 3)}
    if ch.problem.do is None:
        return samples
    d = (ch.do * o).sum(-1, keepdim=True) - ch.dlse[..., None]
    ds = torch.where(torch.arange(count).reshape(count, 1, 1, 1, 1) % 4 < 2, p, p_hat) * (dp - d)
    ds = rho(ds, a) if arithmetic.materialised else ds
    dx = rho(ds * ch.h, other)
    samples["dq"] = rho(ch.scale * dx @ ch.k).transpose(2, 3)
    samples["dk"] = rho(ch.group_sum(ch.scale * dx.mT @ ch.q))
    samples["dv"] = rho(ch.group_sum(p_hat.mT @ ch.do))
    if ch.problem.bias is not None:
        samples["dbias"] = rho(ch.bias_sum(rho(ds, other)))
    return samples
