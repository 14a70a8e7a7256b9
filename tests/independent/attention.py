"""Attention in float64, as docs/contract.md states it; autograd gives every gradient.

Written from that page alone, to judge implementations with which it shares nothing. Slow on purpose:
each pair of a query and a key gets copies of its own of the rows it multiplies. A hidden pair's copies
are *selected* to 0 (torch.where) on the way in, and the backward pass of where selects 0 too. So a
hidden pair gives exactly 0 to every output and gradient whatever its memory holds, with no 0 × NaN for
autograd to trip over. Which pairs are hidden depends on the scores, so the scores are computed twice:
once to see, once to differentiate.
"""
import math
from dataclasses import dataclass
from typing import Optional

import torch

INF = math.inf


@dataclass
class Problem:
    """One problem of the contract. Tensors are float64 and hold values of the problem's type."""
    dtype: str                              # fp16, bf16, fp32 or fp64
    q: torch.Tensor                         # [B, N_q, H_q, d]
    k: torch.Tensor                         # [B, N_k, H_kv, d]
    v: torch.Tensor                         # [B, N_k, H_kv, d_v]
    do: Optional[torch.Tensor] = None       # [B, N_q, H_q, d_v]; without it: forward only
    dlse: Optional[torch.Tensor] = None     # [B, H_q, N_q]
    bias: Optional[torch.Tensor] = None     # broadcasts to [B, H_q, N_q, N_k]
    alibi: Optional[torch.Tensor] = None    # [H_q], or [B or members, H_q]
    sinks: Optional[torch.Tensor] = None    # [H_q]
    cu_q: Optional[list] = None             # [members + 1], packed sequences
    cu_k: Optional[list] = None
    scale: Optional[float] = None           # None: 1/√d
    softcap: Optional[float] = None
    causal: bool = False
    top_left: bool = False
    window: Optional[tuple] = None          # (left, right), either may be inf

    @property
    def x_scale(self):
        return 1 / math.sqrt(self.q.shape[3]) if self.scale is None else self.scale


@dataclass
class Terms:
    """What the outputs were made of; pairs are [B, H_q, N_q, N_k], rows [B, H_q, N_q]."""
    x: torch.Tensor         # scaled dot products
    c: torch.Tensor         # after the soft-cap
    s: torch.Tensor         # scores, −∞ where hidden
    added: torch.Tensor     # |bias| + |ALiBi|
    hidden: torch.Tensor    # bool
    member: torch.Tensor    # bool, rows: false for slack
    sink: torch.Tensor      # rows: the sink's logit, −∞ without one
    lse: torch.Tensor       # rows


def numbering(p):
    """Per row and per key: the member (−1 is slack), the number in it; per row: the key on its diagonal."""
    n_q, n_k = p.q.shape[1], p.k.shape[1]
    cu_q, cu_k = p.cu_q or [0, n_q], p.cu_k or [0, n_k]
    row_member, row = torch.full((n_q,), -1), torch.zeros(n_q, dtype=torch.long)
    key_member, key = torch.full((n_k,), -2), torch.zeros(n_k, dtype=torch.long)
    diagonal = torch.zeros(n_q, dtype=torch.long)
    for b in range(len(cu_q) - 1):
        queries, keys = slice(cu_q[b], cu_q[b + 1]), slice(cu_k[b], cu_k[b + 1])
        length_q, length_k = cu_q[b + 1] - cu_q[b], cu_k[b + 1] - cu_k[b]
        row_member[queries], key_member[keys] = b, b
        row[queries], key[keys] = torch.arange(length_q), torch.arange(length_k)
        diagonal[queries] = row[queries] + (0 if p.top_left else length_k - length_q)
    return row_member, key_member, key, diagonal


def visible(p):
    """[N_q, N_k] bool: contract §3 and §6. And distances to the diagonal, and the rows' members."""
    row_member, key_member, key, diagonal = numbering(p)
    sees = row_member[:, None] == key_member[None, :]
    distance = key[None, :] - diagonal[:, None]  # j − diagonal(i)
    if p.causal:
        sees = sees & (distance <= 0)
    if p.window is not None:
        left, right = p.window
        sees = sees & (distance >= -left) & (distance <= right)
    return sees, distance.abs().double(), row_member


def pairs(rows, keys, hidden):
    """Each pair's own copies of its rows: [B, H, N_q, 1 or N_k, c] selected to 0 where hidden."""
    zero = torch.zeros((), dtype=torch.float64)
    at = hidden[..., None]
    return torch.where(at, zero, rows[:, :, :, None, :]), torch.where(at, zero, keys[:, :, None, :, :])


def heads_first(tensor, h_q):
    """[B, N, H, c] → [B, H_q, N, c]: query head h reads head ⌊h·H / H_q⌋."""
    h = tensor.shape[2]
    return tensor.permute(0, 2, 1, 3).index_select(1, torch.arange(h_q) * h // h_q)


def scores(p, q, k, bias, hidden, distance, row_member):
    """x, c, s of the pairs that are not hidden (contract §2, in its order); 0 for the others."""
    zero = torch.zeros((), dtype=torch.float64)
    h_q = p.q.shape[2]
    q_ij, k_ij = pairs(heads_first(q, h_q), heads_first(k, h_q), hidden)
    x = p.x_scale * (q_ij * k_ij).sum(-1)
    c = x if p.softcap is None else p.softcap * torch.tanh(x / p.softcap)
    s, added = c, torch.zeros_like(c)
    if bias is not None:
        b_ij = torch.where(hidden, zero, bias.expand(hidden.shape))
        s, added = s + b_ij, b_ij.detach().abs()
    if p.alibi is not None:
        slope = slopes(p, row_member)
        fall = torch.where(hidden, zero, slope * distance)
        s, added = s - fall, added + fall.abs()
    return x, c, s, added


def slopes(p, row_member):
    """[B, H_q, N_q, 1]. Packed: one row of slopes a member; slack rows see nothing, any will do."""
    if p.alibi.dim() == 1:
        return p.alibi[None, :, None, None]
    if p.cu_q is None:
        return p.alibi[:, :, None, None]
    return p.alibi[row_member.clamp(min=0)].T[None, :, :, None]


def hidden_pairs(p, sees, distance, row_member):
    """Pairs whose score is −∞: by the mask, by a bias of −∞, by arithmetic (§4)."""
    shape = (p.q.shape[0], p.q.shape[2], p.q.shape[1], p.k.shape[1])
    hidden = (~sees).expand(shape)
    if p.bias is not None:
        hidden = hidden | (p.bias == -INF)
    with torch.no_grad():
        s = scores(p, p.q, p.k, p.bias, hidden, distance, row_member)[2]
    return hidden | (s == -INF)


def attend(p, q, k, v, bias, sinks):
    """O [B, N_q, H_q, d_v], LSE [B, H_q, N_q] and Terms; differentiable in the five tensors."""
    zero = torch.zeros((), dtype=torch.float64)
    sees, distance, row_member = visible(p)
    hidden = hidden_pairs(p, sees, distance, row_member)
    x, c, s, added = scores(p, q, k, bias, hidden, distance, row_member)

    # The sink is one more key, which slack rows do not have: they belong to no member.
    z = torch.full((p.q.shape[2],), -INF, dtype=torch.float64) if sinks is None else sinks
    z = z[None, :, None, None].expand(s.shape[:3] + (1,))
    all_hidden = torch.cat([hidden, (z == -INF) | (row_member < 0)[:, None]], -1)
    all_s = torch.where(all_hidden, zero, torch.cat([s, z], -1))

    # m is a constant to autograd: LSE does not depend on it.
    m = torch.where(all_hidden, -INF, all_s.detach()).amax(-1, keepdim=True)
    nothing = all_hidden.all(-1, keepdim=True)
    m = torch.where(nothing, zero, m)
    e = torch.where(all_hidden, zero, torch.exp(all_s - m))
    ell = torch.where(nothing, zero + 1, e.sum(-1, keepdim=True))
    lse = torch.where(nothing, zero - INF, m + torch.log(ell))[..., 0]

    h_q = p.q.shape[2]
    weights = (e / ell)[..., :-1]
    _, v_ij = pairs(heads_first(p.q, h_q), heads_first(v, h_q), hidden)
    empty = hidden.all(-1)[..., None]
    o = torch.where(empty, zero, (weights[..., None] * v_ij).sum(3))
    terms = Terms(x, c, torch.where(hidden, zero - INF, s), added, hidden,
                  (row_member >= 0).expand(lse.shape),
                  torch.where(all_hidden[..., -1], zero - INF, z[..., 0]), lse)
    return o.permute(0, 2, 1, 3), lse, terms


def attention(p):
    """The outputs of the contract by name (o, lse and, given dO, dq, dk, dv, dbias, dsinks), and Terms."""
    names = ["q", "k", "v"] + [n for n in ("bias", "sinks") if getattr(p, n) is not None]
    leaves = {n: getattr(p, n).clone().requires_grad_(p.do is not None) for n in names}
    o, lse, terms = attend(p, leaves["q"], leaves["k"], leaves["v"], leaves.get("bias"), leaves.get("sinks"))
    outputs = {"o": o.detach(), "lse": lse.detach()}
    if p.do is not None:
        dlse = torch.zeros_like(lse) if p.dlse is None else p.dlse
        gradients = torch.autograd.grad([o, lse], list(leaves.values()), [p.do, dlse])
        outputs.update({"d" + n: g for n, g in zip(names, gradients)})
    for field in vars(terms):
        setattr(terms, field, getattr(terms, field).detach())
    return outputs, terms
