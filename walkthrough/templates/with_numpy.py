"""Your kernel in Python: a copy of this file, with your own code in `forward` and `backward`.

    cp walkthrough/templates/with_numpy.py mine.py
    ./book verify --plugin mine.py

docs/your_kernel.md says what `p` holds, and which words `takes` may have.
"""
import numpy as np

takes = {"fp16", "bf16", "fp32", "causal", "grouped", "d!=dv", "scale<=0"}

# A product with a weight of 0 spreads NaN over the whole head.
properties = {"nan_tile": [1 << 30, 1 << 30]}


def visible(p):
    """Whether row i sees key j, [N_q, N_k]."""
    i, j = np.arange(p.n_q)[:, None], np.arange(p.n_k)
    return (j <= i + p.n_k - p.n_q) | (not p.causal)


def softmax(p, q, k, sees):
    """P [N_q, N_k] and LSE [N_q] of one head."""
    s = np.where(sees, p.scale * (q @ k.T), -np.inf)
    m = s.max(axis=1, initial=-np.inf)
    weights = np.exp(s - np.where(m == -np.inf, 0, m)[:, None])
    l = weights.sum(axis=1)
    return weights / np.where(l == 0, 1, l)[:, None], m + np.log(l)


def one_head(p, tensor, b, h, sees):
    """A head's rows in fp64; those that see nothing, or are not seen, are 0, whatever they hold."""
    return np.where(sees[:, None], tensor[b, :, h].astype(np.float64), 0)


def unless_empty(lse, rows):
    """0 in rows of no weight: 0 times what they do not see may be NaN."""
    return np.where(np.isneginf(lse)[:, None], 0, rows)


def forward(p, q, k, v):
    o, lse = np.zeros(q.shape[:3] + (p.d_v,)), np.zeros((p.batch, p.heads_q, p.n_q))
    sees = visible(p)
    for b, h in np.ndindex(p.batch, p.heads_q):
        Q = one_head(p, q, b, h, sees.any(axis=1))
        K, V = (one_head(p, t, b, h // p.group, sees.any(axis=0)) for t in (k, v))
        P, lse[b, h] = softmax(p, Q, K, sees)
        o[b, :, h] = unless_empty(lse[b, h], P @ V)
    return o, lse


def backward(p, q, k, v, o, lse, grad_o):
    dq, dk, dv = (np.zeros(t.shape) for t in (q, k, v))
    sees = visible(p)
    for b, h in np.ndindex(p.batch, p.heads_q):
        Q, dO = (one_head(p, t, b, h, sees.any(axis=1)) for t in (q, grad_o))
        K, V = (one_head(p, t, b, h // p.group, sees.any(axis=0)) for t in (k, v))
        P, L = softmax(p, Q, K, sees)
        dP = dO @ V.T
        dS = P * (dP - (P * dP).sum(axis=1, keepdims=True))
        dq[b, :, h] = unless_empty(L, p.scale * dS @ K)
        dk[b, :, h // p.group] += p.scale * dS.T @ Q
        dv[b, :, h // p.group] += P.T @ dO
    return dq, dk, dv
