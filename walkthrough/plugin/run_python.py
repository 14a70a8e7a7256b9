"""Runs a Python module's attention for `flashbook verify --plugin MODULE.py`.

The module defines forward(p, q, k, v) -> O, LSE or backward(p, q, k, v, o, lse, grad_o) -> dQ, dK, dV
(then dBias, dSinks where the problem has them), or both, on numpy arrays; and `takes`, a set of the
options that it takes, by the names `flashbook verify` refuses them with. `p` has the problem's numbers
and the tensors that only some problems have. In bf16 problems arrays are fp32 and hold bf16 values;
what comes back is rounded. docs/your_kernel.md says more.

Speaks with its parent through stdin and stdout: a line of JSON, then the bytes of the tensors it lists.
"""
import ctypes
import importlib.util
import json
import os
import sys
import traceback
import types

try:
    import numpy as np
except ImportError:
    print(json.dumps({"error": f"{sys.executable} has no numpy: install it (apt-get install python3-numpy, "
                               "pip install numpy), or put a python3 that has it first in PATH"}))
    sys.exit()

TYPES = {"fp16": np.float16, "fp32": np.float32, "fp64": np.float64, "int64": np.int64}

AXES = {"LSE": "[batch, query head, query]", "dBias": "the bias's own", "dSinks": "[query head]"}


def from_bytes(data, dtype, shape):
    if dtype == "bf16":  # the upper half of an fp32 number
        bits = np.frombuffer(data, np.uint16).astype(np.uint32) << 16
        return bits.view(np.float32).reshape(shape)
    return np.frombuffer(data, TYPES[dtype]).reshape(shape)


def to_bytes(array, dtype):
    if dtype != "bf16":
        return np.ascontiguousarray(array, TYPES[dtype]).tobytes()
    numbers = np.ascontiguousarray(array, np.float32)
    bits = numbers.view(np.uint32)
    rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16  # to nearest, ties to even
    return np.where(np.isnan(numbers), 0x7FC0, rounded).astype(np.uint16).tobytes()


def size_of(dtype):
    return 2 if dtype == "bf16" else np.dtype(TYPES[dtype]).itemsize


def without_ones(name, array):
    """The LSE is [B, H, N], slopes [H] or [B, H], sinks and offsets have one axis; the rest has four."""
    if name in ("lse", "grad_lse"):
        return array[0]
    if name == "alibi":
        return array[0, 0]
    return array.reshape(-1) if name in ("sinks", "cu_seqlens_q", "cu_seqlens_k") else array


def arguments(header, tensors):
    problem = types.SimpleNamespace(**header["problem"])
    for name in ("bias", "alibi", "sinks", "cu_seqlens_q", "cu_seqlens_k", "grad_lse"):
        setattr(problem, name, tensors.get(name))
    names = ["q", "k", "v"] + (["o", "lse", "grad_o"] if header["pass"] == "backward" else [])
    return [problem] + [tensors[name] for name in names]


def compute(module, header, tensors):
    """The bytes of the outputs that are wanted."""
    wanted = header["wanted"]
    results = getattr(module, header["pass"])(*arguments(header, tensors))
    if not isinstance(results, (tuple, list)) or len(results) != len(wanted):
        names = ", ".join(each["name"] for each in wanted)
        raise ValueError(f"{header['pass']} must return {len(wanted)} arrays: {names}")
    answer = b""
    for each, result in zip(wanted, results):
        shape = tuple(each["shape"][1:] if each["name"] == "LSE" else each["shape"])
        if each["name"] == "dSinks":
            shape = shape[-1:]
        if np.shape(result) != shape:
            axes = AXES.get(each["name"], "[batch, token, head, channel]")
            raise ValueError(f"{each['name']} has shape {np.shape(result)} and must have {shape}, {axes}")
        if np.asarray(result).dtype.kind not in "biuf":
            raise ValueError(f"{each['name']} has dtype {np.asarray(result).dtype} and must have real numbers")
        answer += to_bytes(result, each["dtype"])
    return answer


def eps(value):
    if not 0 <= float(value) < 1:
        raise ValueError(f"eps is {value}: pass a relative error, from 0 to 1")
    return float(value)


def tile(value):
    rows, keys = (int(n) for n in value)
    if not (0 < rows < 1 << 31 and 0 < keys < 1 << 31):
        raise ValueError(f"nan_tile is {value}: pass two positive sizes")
    return [rows, keys]


PROPERTIES = {"materialised": bool, "deterministic_dq": bool, "deterministic_dkv": bool,
              "eps_exp": eps, "eps_tanh": eps, "nan_tile": tile}


def properties_of(module):
    given = getattr(module, "properties", {})
    if not isinstance(given, dict) or not given.keys() <= PROPERTIES.keys():
        raise ValueError(f"properties is {given!r}: pass a dict with some of {', '.join(PROPERTIES)}")
    return {name: PROPERTIES[name](value) for name, value in given.items()}


def words_of(module):
    """A string is a set of letters."""
    if not hasattr(module, "takes"):
        raise AttributeError('it has no `takes`: a set such as {"fp32", "causal"}')
    if isinstance(module.takes, str) or not all(isinstance(word, str) for word in module.takes):
        raise TypeError(f'takes is {module.takes!r}: pass a set of words, such as {{"fp32", "causal"}}')
    return sorted(module.takes)


def load(path):
    sys.path[0] = os.path.dirname(os.path.abspath(path))  # what lies beside it can be imported
    spec = importlib.util.spec_from_file_location("plugin", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def greeting(module, path):
    passes = {name: callable(getattr(module, name, None)) for name in ("forward", "backward")}
    if not any(passes.values()):
        raise AttributeError("it defines neither forward nor backward")
    return {"name": os.path.splitext(os.path.basename(path))[0], "takes": words_of(module), **passes,
            "properties": properties_of(module)}


def last_line(error):
    return traceback.format_exception_only(type(error), error)[-1].strip()


def frames_of(error):
    """The module's, and of what it calls."""
    frames = traceback.extract_tb(error.__traceback__)
    return "".join(traceback.format_list([each for each in frames if each.filename != __file__]))


def main(path):
    ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL: no orphan that runs for ever
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what the module prints must not come between

    process = os.getpid()

    def answer(header, data=b""):
        if os.getpid() != process:  # the module has forked, and both came back
            os._exit(0)
        sink.write(json.dumps(header, ensure_ascii=False).encode(errors="replace") + b"\n" + data)
        sink.flush()

    try:
        module = load(path)
        hello = greeting(module, path)
    except Exception as error:
        return answer({"error": last_line(error)})
    answer(hello)
    for line in source:
        header = json.loads(line)
        tensors = {}
        for each in header["sent"]:
            data = source.read(int(np.prod(each["shape"])) * size_of(each["dtype"]))
            tensors[each["name"]] = without_ones(
                each["name"], from_bytes(data, each["dtype"], each["shape"]))
        try:
            with np.errstate(all="ignore"):
                data = compute(module, header, tensors)
        except Exception as error:
            answer({"error": last_line(error), "frames": frames_of(error)})
        else:
            answer({}, data)


main(sys.argv[1])
