"""The error gates of the conformance suite: what a correct attention kernel may be wrong by.

Gate 1  bounds every element: no correct kernel exceeds it, whatever its order of summation.
Gate 2  bounds each output's root-mean-square error by 1.5 times that of an *ideal kernel* (exact arithmetic, rounding
        only where the contract lets a kernel round) plus the usual noise of fp32 accumulation. It sees 1 % errors.
Gate 3  bounds the error's component along known directions (the output itself; what a wrong Δ would add to dQ). It
        sees 1 % errors that drown in the noise gate 2 allows.

The same code runs on numpy arrays (the reference) and on torch tensors (used to judge real kernels on a GPU). All
arrays are float64, [heads, rows, columns]. docs/gates.md states the formulas; names here are the symbols used there.
"""
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

UPS = 2.0**-24                                                   # υ, unit roundoff of the fp32 accumulator
U = {"fp16": 2.0**-11, "bf16": 2.0**-8, "fp32": 2.0**-24}        # u, unit roundoff of inputs, P, dS and outputs
ETA = {"fp16": 2.0**-25, "bf16": 2.0**-126, "fp32": 2.0**-126}   # η, half the smallest subnormal (or flushed to zero)
FLUSHED = 2.0**-126                                              # what fp32 arithmetic may flush to zero
EXP2 = 2.0**-22                                                  # ε_exp: ex2.approx; a cubic exp2 declares 8.8e-5
TANH = 2.0**-22                                                  # ε_tanh; a kernel using tanh.approx declares 2^-11
RUNS = 8                                                         # of the ideal kernel
C = 1.5                                                          # gate 2's one constant


def lib(x):
    """numpy or torch, whichever x belongs to."""
    if isinstance(x, np.ndarray):
        return np
    import torch
    return torch


def T(x):
    return lib(x).swapaxes(x, -1, -2)


def rnd(x, t):
    """ρ: float64 rounded to the nearest value of type t (ties to even), still float64."""
    if not isinstance(x, np.ndarray):
        import torch
        return x.to({"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}[t]).to(torch.float64)
    with np.errstate(over="ignore"):
        if t == "fp16":
            return x.astype(np.float16).astype(np.float64)
        x = x.astype(np.float32)
    if t == "bf16":
        bits = np.ascontiguousarray(x).view(np.uint32)
        bits = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
        x = bits.view(np.float32)
    return x.astype(np.float64)


def rms(x):
    return float((x * x).mean())**0.5


@dataclass
class Case:
    """One attention problem. q, do [Hq, Nq, ·]; k, v [Hkv, Nk, ·]; query head h reads kv head h // (Hq / Hkv)."""
    q: Any
    k: Any
    v: Any
    do: Any
    scale: float
    keep: Any = None          # bool, broadcastable to [Hq, Nq, Nk]: True where key j is visible to row i
    bias: Any = None          # broadcastable to [Hq, Nq, Nk]
    alibi: Any = None         # −slope·distance, broadcastable likewise; beyond GATES.md: bias + ALiBi, |bias| + |ALiBi|
    softcap: Any = None
    sink: Any = None          # [Hq, 1, 1]
    dlse: Any = None          # [Hq, Nq, 1]

    @property
    def group(self):
        return self.q.shape[0] // self.k.shape[0]

    def per_query_head(self, x):
        g = self.group
        return x if g == 1 else (x.repeat(g, 0) if isinstance(x, np.ndarray) else x.repeat_interleave(g, 0))

    def over_group(self, x):
        """Sum a per-query-head gradient (or tolerance, or variance) of K or V over its group."""
        return x if self.group == 1 else x.reshape(-1, self.group, *x.shape[1:]).sum(1)

    def over_bias(self, x):
        """Sum dS (or its tolerance, or variance) over the axes along which the bias was broadcast."""
        shape = (1,) * (x.ndim - self.bias.ndim) + tuple(self.bias.shape)
        axes = tuple(a for a in range(x.ndim) if shape[a] == 1 and x.shape[a] != 1)
        return (x.sum(axes, keepdims=True) if axes else x).reshape(self.bias.shape)

    def added(self, of=lambda x: x):
        """Sum of what is added to the capped scores, or of its absolute values; None if nothing is."""
        parts = [of(x) for x in (self.bias, self.alibi) if x is not None]
        return sum(parts) if parts else None

    def visible(self, x):
        """x with masked pairs put to 0."""
        return x if self.keep is None else lib(x).where(self.keep, x, lib(x).zeros_like(x))


# ---------------------------------------------------------------------------------------------------------------
# The oracle
# ---------------------------------------------------------------------------------------------------------------
def softmax(c, s):
    """P, L and the sink's probability; an empty row has P = 0."""
    xp = lib(s)
    s = s if c.keep is None else xp.where(c.keep, s, -xp.inf)
    m = xp.amax(s, axis=-1, keepdims=True)
    if c.sink is not None:
        m = xp.maximum(m, c.sink + 0 * m)
    m = xp.where(xp.isfinite(m), m, xp.zeros_like(m))
    p = xp.exp(s - m)
    l = p.sum(-1, keepdims=True)
    if c.sink is not None:
        l = l + xp.exp(c.sink - m)
    l = xp.where(l == 0, xp.ones_like(l), l)
    L = m + xp.log(l)
    return p / l, L, None if c.sink is None else xp.exp(c.sink - L)


def oracle(c):
    """Exact attention, forward and backward, with every intermediate the gates need."""
    r = SimpleNamespace()
    r.K, r.V = c.per_query_head(c.k), c.per_query_head(c.v)
    r.x = c.scale * (c.q @ T(r.K))                                # scaled scores
    r.c, r.h = r.x, 1.0                                           # capped scores, and the cap's slope 1 − tanh²
    if c.softcap is not None:
        t = lib(c.q).tanh(r.x / c.softcap)
        r.c, r.h = c.softcap * t, 1 - t * t
    r.s = r.c if c.added() is None else r.c + c.added()
    r.P, r.L, r.P_sink = softmax(c, r.s)
    r.O = r.P @ r.V
    r.dP = c.do @ T(r.V)
    r.delta = (c.do * r.O).sum(-1, keepdims=True)
    r.D = r.delta if c.dlse is None else r.delta - c.dlse         # Δ' = Δ − dLSE
    r.dS = r.P * (r.dP - r.D)                                     # gradient of s, hence of the bias
    r.dX = r.dS * r.h                                             # gradient of x
    r.dQ = c.scale * (r.dX @ r.K)
    r.dK = c.over_group(c.scale * (T(r.dX) @ c.q))
    r.dV = c.over_group(T(r.P) @ c.do)
    if c.bias is not None:
        r.dB = c.over_bias(r.dS)
    if c.sink is not None:
        r.dSink = -(r.P_sink * r.D).sum(-2, keepdims=True)
    return r


# ---------------------------------------------------------------------------------------------------------------
# Gate 1
# ---------------------------------------------------------------------------------------------------------------
def gamma(n):
    """Summing n terms in any order, and a few more roundings for rescaling and splitting."""
    return (n + 16) * UPS


def gate1(c, r, t, eps_exp=EXP2, eps_tanh=TANH, materialised=False):
    """Element-wise tolerances of O, LSE, D = Δ − dLSE, dQ, dK, dV (dB, dSink)."""
    xp, u, eta, tol = lib(c.q), U[t], ETA[t], {}
    n_q, n_k, d, d_v = c.q.shape[1], c.k.shape[1], c.q.shape[2], c.v.shape[2]
    g_d, g_dv, g_k, g_q = gamma(d), gamma(d_v), gamma(n_k), gamma(n_q * c.group)
    aq, aK, aV, ado, sc = abs(c.q), abs(r.K), abs(r.V), abs(c.do), abs(c.scale)
    w = u if materialised else 0.0                                # S, P, dP, dS stored in the input type
    one = c.visible(xp.ones_like(r.P))
    more = 1 + 4 * u                                              # second-order terms

    e_x = sc * (g_d + 2 * w) * (aq @ T(aK)) + (4 * UPS + 2 * w) * abs(r.x)      # materialised: √scale·Q, √scale·K, S
    e_c = e_x
    if c.softcap is not None:
        e_x = xp.where(abs(r.x) == float("inf"), xp.zeros_like(e_x), e_x)   # infinite in any arithmetic, and ±cap exactly
        e_c = xp.clip(r.h + e_x / c.softcap, None, 1.0) * e_x + (eps_tanh + 4 * UPS + w) * abs(r.c)
    e = e_c + 4 * UPS * abs(r.L) + 8 * UPS * (2 + abs(r.s - r.L)) + eps_exp
    if c.added() is not None:
        e = e + 4 * UPS * c.added(abs) + w * abs(r.s)
    eps = c.visible(e)                                            # of ln P
    off = lambda y: xp.expm1(xp.clip(y, None, 700.0))             # what a factor of at most e^y is off by
    lse, worst = (r.P * off(eps)).sum(-1, keepdims=True), xp.amax(eps, axis=-1, keepdims=True)
    if c.sink is not None:
        e_sink = 4 * UPS * (abs(c.sink) + abs(r.L)) + 8 * UPS * (2 + abs(c.sink - r.L)) + eps_exp + w * abs(c.sink)
        lse, worst = lse + r.P_sink * off(e_sink), xp.maximum(worst, e_sink)
    rounding = g_k + 8 * UPS * (1 + abs(r.L) + np.log(n_k + 1))
    # Beyond GATES.md: LSE is off by no more than its worst score; in the forward pass 0 ≤ P ≤ 1, P = 1 for a lone key.
    tol["LSE"] = lse = xp.minimum(lse, worst) + rounding          # λ
    e = off(eps + lse)                                            # ē: relative error of P before it is rounded

    fwd = xp.where(eps + lse > 700.0, xp.exp(xp.clip(r.s - r.L + eps + lse, None, 0.0)), r.P * e)
    fwd = c.visible(xp.clip(fwd, None, 1.0))                      # error of the forward's P
    if c.sink is None:
        fwd = xp.where(one.sum(-1, keepdims=True) == 1, 0 * fwd, fwd)
    tol["O"] = ((u * r.P + fwd) * more + eta * one + g_k * (r.P + fwd)) @ aV + u * more * abs(r.O) + eta
    p = r.P * (u + e) * more + eta * one                          # error of the backward's P, rounded
    tol["D"] = (ado * (tol["O"] + g_dv * (r.P @ aV))).sum(-1, keepdims=True)
    if materialised:                                              # Δ = Σ P∘dP of rounded P and dP
        tol["D"] = tol["D"] + (r.P * (u * abs(r.dP) + eta)).sum(-1, keepdims=True)
    if c.dlse is not None:
        tol["D"] = tol["D"] + 2 * UPS * (abs(r.delta) + abs(c.dlse))

    eta_S = eta * max(1.0, 1 / sc) if sc > 0 and not materialised else eta      # a kernel may hold scale·dS
    diff = abs(r.dP - r.D)
    e_diff = g_dv * (ado @ T(aV)) + (2 * UPS + w) * (abs(r.dP) + abs(r.D)) + tol["D"] + (eta if materialised else 0)
    b = p * diff + (r.P * (1 + u + e) + eta) * e_diff + u * abs(r.dS) + eta_S * one
    b = c.visible(b * more)                                       # error of dS
    if c.bias is not None:
        repeats = r.dS.shape[0] * n_q * n_k / max(1, int(np.prod(c.bias.shape)))
        tol["dB"] = c.over_bias(b + gamma(repeats) * abs(r.dS)) + u * more * abs(r.dB) + eta
    if c.softcap is not None:
        e_t = e_c / c.softcap                                     # error of tanh
        b = b * r.h + abs(r.dS) * (2 * abs(r.c / c.softcap) * e_t + e_t**2 + 4 * UPS + w) + eta * one
    b = b * (1 + 2 * w) + 2 * w * abs(r.dX)
    if materialised and sc > 0:                                   # scale·dS rounded and stored, besides dS
        b = b + eta / sc * one
    tol["dQ"] = sc * ((b + g_k * abs(r.dX)) @ aK) + u * more * abs(r.dQ) + eta
    tol["dK"] = c.over_group(sc * (T(b + g_q * abs(r.dX)) @ aq)) + u * more * abs(r.dK) + eta
    tol["dV"] = c.over_group(T(p + g_q * r.P) @ ado) + u * more * abs(r.dV) + eta
    if c.sink is not None:
        e_sink = off(e_sink + lse)
        tol["dSink"] = (r.P_sink * ((1 + e_sink) * tol["D"] + (e_sink + g_q + 4 * UPS) * abs(r.D))) \
            .sum(-2, keepdims=True) + u * abs(r.dSink) + eta
    return tol


# ---------------------------------------------------------------------------------------------------------------
# Gate 2: the ideal kernel, and the noise of fp32
# ---------------------------------------------------------------------------------------------------------------
def row_scale(r, n):
    """σ_i in (1/2, 1]: the scale at which run n of the ideal kernel holds row i of P and dS while rounding it.

    A kernel is free in that scale (a stale maximum, 1/ℓ applied before or after), and where many P are equal it
    decides their common rounding error. So runs draw it anew. It depends on the row's LSE alone: equal rows round
    alike, as they do in a kernel; different rows round independently.
    """
    y = r.L * (1000 * n * 0.6180339887498949)
    return 2.0**(lib(y).floor(y) - y)


def ideal(c, r, t, n):
    """Errors of the ideal kernel, run n: exact arithmetic; P, O, dS and the outputs rounded to t, once each.

    Run 0: forward P = exp(s − max), as usual. Run 1: normalised before it is rounded. Later runs: scaled by σ.
    The backward's P is normalised; odd runs also form dS from the rounded P.
    """
    xp = lib(c.q)
    scale = row_scale(r, n) if n > 1 else 1.0
    hold = scale
    if n == 0:
        top = xp.amax(r.P, axis=-1, keepdims=True)
        hold = 1 / xp.where(top > 0, top, xp.ones_like(top))
    low = lambda x, a: rnd(x * a, t) / a
    O = rnd(low(r.P, hold) @ r.V, t)
    D = (c.do * O).sum(-1, keepdims=True)
    D = D if c.dlse is None else D - c.dlse
    P = low(r.P, scale)
    dS = (P if n % 2 else r.P) * (r.dP - D)
    dX = low(dS * r.h, scale)
    out = dict(O=O, D=D, dV=c.over_group(T(P) @ c.do), dQ=c.scale * (dX @ r.K),
               dK=c.over_group(c.scale * (T(dX) @ c.q)))
    if c.bias is not None:
        out["dB"] = c.over_bias(low(dS, scale))
    return {k: (x if k == "D" else rnd(x, t)) - getattr(r, k) for k, x in out.items()}


def ideal_materialised(c, r, t, n):
    """Errors of the standard algorithm in low precision: S, P, dP and dS rounded to t and stored. Runs 0 and 4 scale
    a stored S, rounding twice; 2 and 6 store scale·S, rounding once. Odd runs do as PyTorch does: Q and K times √scale beforehand, and P∘dP rounded in softmax's backward.
    """
    low = lambda x, a=1.0: rnd(x * a, t) / a
    scale, half = (row_scale(r, n) if n > 1 else 1.0), abs(c.scale)**0.5
    if n % 2:
        x = low(low(c.q * half) @ T(low(r.K * (half if c.scale > 0 else -half))))
    elif n % 4:
        x = low(c.q @ T(r.K) * c.scale)
    else:
        x = low(low(c.q @ T(r.K), 2.0**-6) * c.scale)             # 2^-6 against overflow
    tanh = None
    if c.softcap is not None:
        tanh = lib(x).tanh(x / c.softcap)
        x = low(c.softcap * tanh)
    P = low(softmax(c, x if c.added() is None else low(x + c.added()))[0], scale)
    dP = low(c.do @ T(r.V))
    O = rnd(P @ r.V, t)
    PdP = low(P * dP) if n % 2 else P * dP
    D = PdP.sum(-1, keepdims=True)
    D = D if c.dlse is None else D - c.dlse
    dS = low(PdP - P * D, scale)
    dX = low((dS if tanh is None else low(dS * (1 - tanh * tanh))) * c.scale)
    out = dict(O=O, D=D, dV=c.over_group(T(P) @ c.do), dQ=dX @ r.K, dK=c.over_group(T(dX) @ c.q))
    if c.bias is not None:
        out["dB"] = c.over_bias(dS)
    return {k: (x if k == "D" else rnd(x, t)) - getattr(r, k) for k, x in out.items()}


def noise32(c, r, eps_exp=EXP2, eps_tanh=TANH):
    """F²: variance of what fp32 arithmetic adds. A sum of n terms errs by √n υ of its root sum of squares and of its
    value, and by n υ/3 of its value where equal terms, added one by one, all round the same way."""
    u2 = UPS**2
    n_q, n_k, d, d_v = c.q.shape[1] * c.group, c.k.shape[1], c.q.shape[2], c.v.shape[2]
    q2, K2, V2, do2, h2, P2, dX2 = c.q**2, r.K**2, r.V**2, c.do**2, r.h**2, r.P**2, r.dX**2
    row_sum = lambda x: x.sum(-1, keepdims=True)
    s_k, s_q = n_k * u2 + (n_k * UPS / 3)**2, n_q * u2 + (n_q * UPS / 3)**2

    f2 = h2 * d * (c.scale**2 * (q2 @ T(K2)) + r.x**2) + r.c**2 + r.L**2 + 4 * (2 + abs(r.s - r.L))**2
    f2 = u2 * (f2 if c.added() is None else f2 + c.added(abs)**2) + eps_exp**2
    f2 = c.visible(f2 if c.softcap is None else f2 + (eps_tanh * r.c)**2)       # relative variance of P
    row = row_sum(r.P * f2) + s_k                                 # of LSE: the part all keys of a row share
    every = lib(c.q).amax(row, axis=1, keepdims=True)             # the part all rows may share (equal rows)
    every_kv = every if c.group == 1 else lib(c.q).amax(every.reshape(-1, c.group, 1, 1), axis=1)

    f2 = c.visible(f2 + row)
    one = c.visible(r.P * 0 + 1)
    P_error2 = P2 * f2 + FLUSHED**2 * one
    F = {"O": (P_error2 + n_k * u2 * P2) @ V2 + (row + s_k) * r.O**2}
    F["D"] = row_sum(do2 * F["O"]) + (row + s_k) * r.delta**2 + d_v * u2 * (row_sum(do2 * r.O**2) + r.delta**2)
    S = r.dS**2 * f2 + P2 * (d_v * u2 * (do2 @ T(V2)) + (d_v + 2) * u2 * r.dP**2 + 2 * u2 * r.D**2)
    S = S + FLUSHED**2 * one * ((r.dP - r.D)**2 + (max(1.0, 1 / c.scale**2) if c.scale else 1))
    if c.bias is not None:
        F["dB"] = c.over_bias(S + P2 * F["D"])
    S = S * h2 if c.softcap is None else (S + r.dS**2 * f2) * h2 \
        + r.dS**2 * 4 * (r.c / c.softcap)**4 * (eps_tanh**2 + u2)                # of 1 − tanh²
    Ph = r.P * r.h
    F["dQ"] = c.scale**2 * ((S + n_k * u2 * dX2) @ K2 + (Ph @ r.K)**2 * F["D"]) + (row + s_k) * r.dQ**2
    F["dK"] = c.over_group(c.scale**2 * (T(S + n_q * u2 * dX2) @ q2 + T(Ph**2) @ (F["D"] * q2))) + (every_kv + s_q) * r.dK**2
    F["dV"] = c.over_group(T(P_error2 + n_q * u2 * P2) @ do2) + (every_kv + s_q) * r.dV**2
    return F


# ---------------------------------------------------------------------------------------------------------------
# Gate 3: directions
# ---------------------------------------------------------------------------------------------------------------
def directions(c, r):
    """name: (output, G). An error of ε in the gain of an output is ε·X; an error of ε in Δ adds ε·G to dQ."""
    return {"O": ("O", r.O), "dQ": ("dQ", r.dQ), "dK": ("dK", r.dK), "dV": ("dV", r.dV),
            "delta": ("dQ", -c.scale * r.delta * ((r.P * r.h) @ r.K))}


def along(e, G):
    """Component ε of e along G, and its standard error if rows err independently."""
    norm = float((G * G).sum())
    if not norm > 0:
        return 0.0, 0.0
    t = (e * G).sum(-1)
    return float(t.sum()) / norm, float((t * t).sum())**0.5 / norm


def one_rounding(X, G, u):
    """Standard error of the component along G of what rounding each element of X once adds."""
    norm = float((G * G).sum())
    return u * (float(((X * G)**2).sum()) / 3)**0.5 / norm if norm > 0 else 0.0


# ---------------------------------------------------------------------------------------------------------------
# All three
# ---------------------------------------------------------------------------------------------------------------
def expect(c, t, materialised=False, runs=RUNS, **eps):
    """Everything needed to judge outputs of a kernel of type t on case c."""
    x = SimpleNamespace(t=t, r=oracle(c))
    r = x.r
    x.tol = gate1(c, r, t, materialised=materialised, **eps)
    x.F = {k: float(v.mean())**0.5 for k, v in noise32(c, r, **eps).items()}
    x.dirs = directions(c, r)
    x.sim, x.gain = {k: [] for k in x.F}, {k: [] for k in x.dirs}
    for n in range(runs):
        E = (ideal_materialised if materialised else ideal)(c, r, t, n)
        for k in x.F:
            x.sim[k].append(rms(E[k]))
        for k, (out, G) in x.dirs.items():
            x.gain[k].append(along(E[out], G))
    x.rms_tol = {k: C * (max(x.sim[k])**2 + x.F[k]**2)**0.5 for k in x.F}
    x.gain_tol = {}
    for k, (out, G) in x.dirs.items():
        size = rms(G)
        fp32 = x.F[out] / size if size > 0 else 0.0
        error = max([s for _, s in x.gain[k]] + [one_rounding(getattr(r, out), G, U[t])])
        x.gain_tol[k] = 0.5 * U[t] + C * (max(abs(g) for g, _ in x.gain[k]) + fp32) + 4 * error
    return x


def judge(x, outputs):
    """name: (gate 1, gate 2, gate 3), each the largest error as a fraction of what is allowed; NaN fails."""
    result = {}
    for k, value in outputs.items():
        xp = lib(value)
        e = value - {"LSE": x.r.L}.get(k, getattr(x.r, k, None))
        a = abs(e)
        g1 = float(xp.where(a > 0, a / x.tol[k], xp.zeros_like(a)).max())
        g2 = rms(e) / max(x.rms_tol[k], 1e-300) if k in x.rms_tol else 0.0
        g3 = [abs(along(e, G)[0]) / x.gain_tol[n] for n, (out, G) in x.dirs.items() if out == k]
        g1 = g1 if g2 == g2 and g1 == g1 else float("nan")
        result[k] = (g1, g2, max(g3, default=0.0))
    return result
