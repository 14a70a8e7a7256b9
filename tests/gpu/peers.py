"""What others have, timed for `flashbook bench --peers`, which starts this and asks by lines of JSON.

Each line read from stdin is an object with the key "do"; each line written answers it, with "error" if
something is missing or goes wrong:

  begin    folder, dtype          the tensors' numbers are files there; -> versions
  problem  pass, batch, heads, n, d, causal, sets                        -> names
  prepare  name                   ready to be timed; -> flops, of gemm
  time     name                   -> seconds of one call, the mean of many in a CUDA graph
  result   name, file             writes O, or dQ, of the calls that were timed: [batch, heads, n, d]
  drop     name

The rules are those of docs/performance.md, "How to time": rotated inputs, no host between calls.
"""
import json
import os
import sys

N_GEMM = 8192
BACKENDS = {"torch.flash": "FLASH_ATTENTION", "torch.cudnn": "CUDNN_ATTENTION",
            "torch.efficient": "EFFICIENT_ATTENTION", "torch.math": "MATH"}


def load_torch():
    """The module, or an exception whose text says what is missing."""
    try:
        import torch
        from torch.nn import attention  # noqa: F401, from 2.3 on
    except ImportError as error:
        raise RuntimeError(f"the peers need PyTorch 2.3 or later in this python3 ({error}): "
                           "install it, or leave --peers out") from error
    if not torch.cuda.is_available():
        raise RuntimeError("PyTorch sees no GPU: leave --peers out")
    return torch


def calls_in_a_graph(seconds):
    """As cuda/api/gpu_device.cpp has it."""
    return int(max(1, 0.1 / seconds)) if seconds > 5e-3 else int(min(1000, max(20, 0.02 / seconds)))


class Timed:
    """Calls call(i) of `sets` input sets in turn, captured in a graph; the last results are kept."""

    def __init__(self, torch, call, sets):
        self.torch, self.results = torch, [call(i) for i in range(sets)]
        self.call = call  # and with it the tensors that the graph reads
        torch.cuda.synchronize()
        self.count = calls_in_a_graph(self.elapsed(lambda: call(0)))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=torch.cuda.current_stream()):
            for i in range(self.count):
                self.results[i % sets] = call(i % sets)
        self.replay = graph.replay
        self.replay()
        torch.cuda.synchronize()

    def elapsed(self, work):
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        work()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) / 1e3

    def seconds(self):
        """Timed after 0.15 s of the same, as cuda/api/gpu_device.cpp settles."""
        done = 0
        while done < 0.15:
            done += self.elapsed(self.replay)
        return self.elapsed(self.replay) / self.count


class Peers:
    def __init__(self):
        self.torch, self.timed, self.sets = None, {}, []

    def begin(self, folder, dtype):
        torch = self.torch = load_torch()
        # A backward pass runs on the stream of its forward pass: all on one that can be captured.
        torch.cuda.set_stream(torch.cuda.Stream())
        self.dtype = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}[dtype]
        self.host = [torch.from_file(os.path.join(folder, name), dtype=self.dtype,
                                     size=os.path.getsize(os.path.join(folder, name))
                                     // torch.empty(0, dtype=self.dtype).element_size())
                     for name in ("q", "k", "v", "do")]
        versions = f"torch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}"
        return {"versions": versions}

    def problem(self, sets, **problem):
        torch = self.torch
        self.problem_asked, self.timed, self.sets = problem, {k: v for k, v in self.timed.items()
                                                              if k == "gemm"}, []
        torch.cuda.empty_cache()
        shape = [problem[key] for key in ("batch", "heads", "n", "d")]
        size = shape[0] * shape[1] * shape[2] * shape[3]
        for _ in range(sets):
            self.sets.append([host[:size].to("cuda").view(shape) for host in self.host])
            for tensor in self.sets[-1][:3]:
                tensor.requires_grad_(True)
        return {"names": list(BACKENDS) + installed_kernels()}

    def attention(self, name):
        """attend(q, k, v) -> O, all [batch, heads, n, d]."""
        torch, causal = self.torch, self.problem_asked["causal"]
        if name not in BACKENDS:
            attend = {"fa3": "flash_attn_interface", "fa2": "flash_attn"}[name]
            function = __import__(attend).flash_attn_func
            def kernel(*qkv):
                out = function(*(x.transpose(1, 2) for x in qkv), causal=causal)
                return (out[0] if isinstance(out, tuple) else out).transpose(1, 2)
            return kernel
        from torch.nn.attention import SDPBackend, sdpa_kernel
        backend = getattr(SDPBackend, BACKENDS[name])
        def sdpa(*qkv):
            with sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(*qkv, is_causal=causal)
        return sdpa

    def call_of(self, name):
        """call(i) -> what is judged, of input set i."""
        torch, attend = self.torch, self.attention(name)
        if self.problem_asked["pass"] == "forward":
            def forward(i):
                with torch.no_grad():
                    return attend(*self.sets[i][:3])
            return forward
        outputs = [attend(*tensors[:3]) for tensors in self.sets]
        return lambda i: torch.autograd.grad(outputs[i], self.sets[i][:3], self.sets[i][3],
                                             retain_graph=True)[0]

    def prepare(self, name):
        torch = self.torch
        if name == "gemm":
            a, b = (host[torch.arange(N_GEMM * N_GEMM) % host.numel()].to("cuda")
                    .view(N_GEMM, N_GEMM) for host in self.host[:2])
            out = torch.empty_like(a)
            self.timed[name] = Timed(torch, lambda _: torch.mm(a, b, out=out), 1)
            return {"flops": 2 * N_GEMM ** 3}
        try:
            self.timed[name] = Timed(torch, self.call_of(name), len(self.sets))
        except torch.OutOfMemoryError as error:
            torch.cuda.empty_cache()
            raise RuntimeError("out of memory: " + str(error).split(". ")[1]) from error
        return {}

    def time(self, name):
        return {"seconds": self.timed[name].seconds()}

    def result(self, name, file):
        last = self.timed[name].results[-1].detach().contiguous().cpu()
        last.view(self.torch.uint8).numpy().tofile(file)
        return {}

    def drop(self, name):
        self.timed.pop(name, None)
        self.torch.cuda.empty_cache()
        return {}


def installed_kernels():
    from importlib.util import find_spec
    modules = {"fa3": "flash_attn_interface", "fa2": "flash_attn"}
    return [name for name, module in modules.items() if find_spec(module)]


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    peers = Peers()
    for line in sys.stdin:
        question = json.loads(line)
        try:
            answer = getattr(peers, question.pop("do"))(**question)
        except Exception as error:  # said to whoever asked; the next question may go well
            answer = {"error": f"{error}".strip().split("\n")[0] or type(error).__name__}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
