#!/usr/bin/env python3
"""Writes the seeds of the .npy fuzzer, a small file each: make_npy_corpus.py [FOLDER]

One file for each thing the reader knows of the format, right or wrong, so that mutations start close to every branch.
The default folder is npy_corpus beside this script, which is committed.
"""
import os
import struct
import sys

MAGIC = b"\x93NUMPY"


def npy(header, data=b"", version=1):
    length = struct.pack("<H" if version == 1 else "<I", len(header))
    return MAGIC + bytes([version, 0]) + length + header.encode() + data


def header(descr="'<f4'", order="False", shape="(2,)"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


SEEDS = {
    "fp16": npy(header("'<f2'", shape="(2, 3)"), bytes(12)),
    "fp32": npy(header("'<f4'", shape="(1, 2, 1, 2)"), struct.pack("<4f", 1, -1, float("nan"), float("inf"))),
    "fp64": npy(header("'<f8'"), bytes(16)),
    "int32": npy(header("'<i4'"), bytes(8)),
    "int64": npy(header("'<i8'"), bytes(16)),
    "version_2": npy(header(), bytes(8), version=2),
    "version_3": npy(header(), bytes(8), version=3),
    "scalar": npy(header(shape="()"), bytes(4)),
    "empty": npy(header(shape="(0, 7)")),
    "other_spelling": npy('{"shape":(2,),"fortran_order":False,"descr":"<f4"}', bytes(8)),
    "truncated": npy(header(), bytes(7)),
    "too_long": npy(header(), bytes(9)),
    "huge_header": MAGIC + b"\2\0\xff\xff\xff\xff{}",
    "huge_shape": npy(header(shape="(2147483648,)"), bytes(4)),
    "overflowing_shape": npy(header(shape="(4294967296, 4294967296)")),
    "negative_shape": npy(header(shape="(-2,)"), bytes(8)),
    "wrong_magic": b"\x92NUMPY\1\0\2\0{}",
    "objects": npy(header("'|O'"), bytes(16)),
    "big_endian": npy(header("'>f4'"), bytes(8)),
    "structured": npy(header("[('a', '<f4')]"), bytes(8)),
    "fortran": npy(header(order="True"), bytes(8)),
}


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(__file__), "npy_corpus")
    os.makedirs(folder, exist_ok=True)
    for name, contents in SEEDS.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(contents)


if __name__ == "__main__":
    main()
