"""Judges what an implementation wrote for one problem against float64."""
import math

import numpy as np
import torch

import tolerance
from tolerance import TINY, TORCH, UNIT, Chain

SAMPLES = 24           # kernels simulated to learn how far roundings move a gain
DEVIATIONS = 6         # of which a correct kernel may be away
FEWEST = 16            # elements that a gain is measured on
WRITTEN = {"fp16": np.float16, "bf16": np.float32, "fp32": np.float32, "fp64": np.float64}


class Judged:
    """A problem, its exact answer, and how far from it an implementation may be."""

    def __init__(self, draft, problem, outputs, terms):
        self.draft, self.problem, self.outputs, self.terms = draft, problem, outputs, terms
        self.chain = Chain(problem, outputs, terms)
        self.undefined()
        self.made = {}  # by arithmetic: implementations share them

    def __str__(self):
        p = self.problem
        (b, n_q, h_q, d), (n_k, h_kv, d_v) = p.q.shape, (*p.k.shape[1:3], p.v.shape[3])
        options = list(self.draft.options) + [self.draft.poison] * bool(self.draft.poison)
        return (f"{p.dtype}, B={b} N_q={n_q} N_k={n_k} H_q={h_q} H_kv={h_kv} d={d} d_v={d_v}, "
                f"{self.draft.kind}, {', '.join(options) or 'no option'}")

    def undefined(self):
        """§4: what a sink of NaN or +∞ does to rows that see no key is not defined."""
        sinks, nothing = self.problem.sinks, self.terms.hidden.all(-1)
        if sinks is None:
            sinks = torch.zeros(nothing.shape[1])
        rows = nothing & (sinks.isnan() | (sinks == math.inf))[None, :, None] & self.terms.member
        self.free = {"lse": rows, "o": rows.transpose(1, 2)[..., None].expand(self.outputs["o"].shape)}

    def overflows(self, arithmetic):
        """§8: scores beyond 65504 overflow a materialised fp16 implementation."""
        if not (arithmetic.materialised and arithmetic.dtype == "fp16"):
            return False
        ch = self.chain
        largest = [ch.x, ch.c, ch.s, ch.q @ ch.k.mT] + ([ch.dp, ch.ds] if self.problem.do is not None else [])
        return any(t.numel() and t.abs().max() > 6e4 for t in largest)

    def bounds(self, a):
        """Bounds on elements, bounds without the 16-bit roundings, and simulated kernels; kept."""
        if a not in self.made:
            seed = torch.Generator().manual_seed(1)
            largest = float(self.chain.s.abs().max()) if self.chain.s.numel() else 0.0
            gains = a.rounds and not self.draft.poison and not (a.materialised and a.u * largest > 0.1)
            self.made[a] = (tolerance.worst_case(self.chain, a),
                            tolerance.worst_case(self.chain, a, rounding=False) if gains else None,
                            tolerance.spread(self.chain, a, SAMPLES, seed) if gains else None)
        return self.made[a]

    def faults(self, written, arithmetic, tile, backward=True):
        """What is wrong with the outputs, in sentences; and the largest fraction used of each bound."""
        faults, fractions = [], {}
        expected = set(self.outputs) if backward else {"o", "lse"}
        if set(written) != expected:
            faults.append(f"wrote {sorted(written)}, not {sorted(expected)}")
        bounds, noise, kernels = self.bounds(arithmetic)
        spread = self.nan_may_reach(tile)
        for name in self.outputs.keys() & written.keys():
            problem = self.form(name, written[name])
            if problem:
                faults.append(problem)
                continue
            mine, theirs = self.outputs[name], torch.tensor(written[name].astype(np.float64))
            fault, fractions[name] = self.elements(name, mine, theirs, bounds[name], spread.get(name))
            faults += [fault] if fault else []
            if kernels and name in kernels and not fault:
                fault, fractions[name + "*"] = self.gains(
                    name, theirs - mine, noise[name], kernels[name], rows=not arithmetic.materialised)
                faults += [fault] if fault else []
        return faults, fractions

    def form(self, name, array):
        """Shape and dtype of a written file, and for bf16 that fp32 holds bf16 numbers."""
        dtype, shape = self.problem.dtype, tuple(self.outputs[name].shape)
        expected = np.float64 if dtype == "fp64" else np.float32 if name == "lse" else WRITTEN[dtype]
        if array.shape != shape or array.dtype != expected:
            return f"{name} is {array.dtype}{list(array.shape)}, not {np.dtype(expected)}{list(shape)}"
        if dtype == "bf16" and name != "lse":
            held = tolerance.finite(torch.tensor(array))
            if not torch.equal(held.bfloat16().float(), held):
                return f"{name} holds numbers that bf16 does not"
        return None

    def elements(self, name, mine, theirs, bound, may_be_nan):
        """Every element: NaN where NaN is due, −∞ where the row is empty, else within the bound."""
        equal, numbers = mine == theirs, mine.isfinite() & theirs.isfinite()
        # NaN for NaN. Where an input was infinite, any number that is not finite will do for another.
        with_inf = "inf in" in str(self.draft.poison)
        wrong_nan = mine.isfinite() != theirs.isfinite() if with_inf else mine.isnan() != theirs.isnan()
        empty = mine == -math.inf if name == "lse" else torch.zeros_like(equal)
        close = (mine - theirs).abs() <= bound
        if self.problem.dtype == "fp16":
            close |= (mine.abs() > 65504 * (1 - UNIT["fp16"])) & (theirs.abs() > 65000)  # may overflow
        good = torch.where(numbers, close, torch.where(empty, equal, ~wrong_nan))
        good |= self.free.get(name, torch.zeros_like(good))
        if may_be_nan is not None:
            good |= may_be_nan & mine.isfinite() & ~theirs.isfinite()
        fraction = torch.where(numbers & (bound > 0), (mine - theirs).abs() / bound, torch.zeros_like(bound))
        used = float(fraction.max()) if fraction.numel() else 0.0
        if good.all():
            return None, used
        badness = torch.where(good, torch.full_like(fraction, -1.0), fraction)
        at = tuple(int(i) for i in np.unravel_index(int(badness.argmax()), badness.shape))
        return (f"{name}{list(at)} is {float(theirs[at])!r}, exactly {float(mine[at])!r}: off by "
                f"{abs(float(theirs[at] - mine[at])):.3g}, allowed {float(bound[at]):.3g}; "
                f"{int((~good).sum())} of {good.numel()} elements are wrong"), used

    def gains(self, name, error, noise, kernels, rows):
        """⟨error, G⟩ / ⟨G, G⟩ over the tensor and over each row, against that of simulated kernels."""
        mine, largest, worst = self.outputs[name], 0.0, None
        directions = [("itself", mine)] + self.delta_directions(name)
        tests = [(what, g.reshape(1, -1), *(t.reshape(*front, 1, -1) for t, front in (
            (error, ()), (noise, ()), (kernels - mine, (SAMPLES,))))) for what, g in directions]
        if rows and mine.dim() == 4 and name != "dbias":  # stored scores of few keys scatter beyond any deviation
            tests.append(("row", mine, error, noise, kernels - mine))
        for what, g, e, b, k in tests:
            n = g.shape[-1]
            size = (g * g).sum(-1)
            if n < FEWEST or not size.numel():
                continue
            alike = (g**4).sum(-1).sqrt() / size  # 1/√n of n elements of one size
            project = lambda t: (t * g).sum(-1) / size
            deviation = (project(k) ** 2).mean(0).sqrt()
            floor = (b * g.abs()).sum(-1) / size + UNIT[self.problem.dtype] * (DEVIATIONS * 0.42 * alike).clamp(max=1)
            floor = floor + TINY[self.problem.dtype] * g.abs().sum(-1) / size
            limit = floor + DEVIATIONS * deviation
            fraction = torch.where(size > 0, project(e).abs() / limit, torch.zeros_like(size))
            used = float(fraction.max())
            if not used <= 1 and worst is None:
                at = tuple(int(i) for i in np.unravel_index(int(fraction.argmax()), fraction.shape))
                worst = (f"{name}: a part of {float(project(e)[at]):.3g} of its error points along {what}"
                         f"{f' {list(at)}' if what == 'row' else ''}, allowed {float(limit[at]):.2g}")
            largest = max(largest, used)
        return worst, largest

    def delta_directions(self, name):
        """What a relative error of Δ would add to dQ and to dK."""
        ch = self.chain
        if name not in ("dq", "dk"):
            return []
        wrong = -ch.scale * ch.delta[..., None] * ch.p * ch.h
        g = (wrong @ ch.k).transpose(1, 2) if name == "dq" else ch.group_sum(wrong.mT @ ch.q)
        return [("an error of Δ", g)]

    def nan_may_reach(self, tile):
        """Name → elements that may be NaN too: §7's exception, for implementations that declare it."""
        if tile is None or not self.draft.poison:
            return {}
        seen, touched = ~self.terms.hidden, self.touched()
        n_q, n_k = seen.shape[2:]
        blocks = self.blocks(tile)
        for _ in range(3):  # NaN in a row's O goes on through its D
            bad = (seen & touched).double()
            rows_of, keys_of = blocks
            tiles = torch.einsum("ri,bhij,cj->bhrc", rows_of, bad, keys_of) > 0
            in_tile = torch.einsum("ri,bhrc,cj->bhij", rows_of, tiles.double(), keys_of) > 0
            touched = touched | in_tile.any(-1, keepdim=True).expand(seen.shape) & seen
        rows, keys = in_tile.any(-1), in_tile.any(-2)
        h_kv = self.problem.k.shape[2]
        keys = keys.reshape(keys.shape[0], h_kv, keys.shape[1] // h_kv, n_k).any(2)
        reach = {"o": rows, "dq": rows, "dk": keys, "dv": keys}
        reach = {n: at.transpose(1, 2)[..., None].expand(self.outputs[n].shape)
                 for n, at in reach.items() if n in self.outputs}
        if "dbias" in self.outputs:  # through D of those rows, as dsinks
            reach["dbias"] = self.chain.bias_sum((rows[..., None] & seen).double()) > 0
        if "dsinks" in self.outputs:
            reach["dsinks"] = rows.any(-1).any(0)
        return reach

    def touched(self):
        """Pairs with anything that is not finite in their rows, their keys or their scores."""
        p, h = self.problem, self.problem.q.shape[2]
        bad = ~self.terms.lse.isfinite()[..., None] & ~self.terms.hidden
        strange = lambda t: ~tolerance.heads_first(t, h).isfinite().all(-1)
        bad = bad | strange(p.q)[..., None] | (strange(p.k) | strange(p.v))[:, :, None, :]
        if p.do is not None:
            bad = bad | strange(p.do)[..., None]
        return bad if p.dlse is None else bad | ~p.dlse.isfinite()[..., None]

    def blocks(self, tile):
        """[row tiles, N_q] and [key tiles, N_k], 1 where a token is in a tile: tiles start with a member."""
        p = self.problem

        def one_side(n, offsets, size):
            label, labels = torch.zeros(n, dtype=torch.long), 0
            for start, end in zip(offsets, offsets[1:] + [n]):
                label[start:end] = labels + torch.arange(end - start) // size
                labels += -(-(end - start) // size)
            return (label == torch.arange(max(labels, 1))[:, None]).double()
        return (one_side(p.q.shape[1], p.cu_q or [0], tile["rows"]),
                one_side(p.k.shape[1], p.cu_k or [0], tile["columns"]))
