#!/usr/bin/env python3
"""Stands for tcu_bench in test_run.py: a row for each --kernel and each --group, which is its case. What it was asked is a line of
FAKE_LOG."""
import argparse
import json
import os

parser = argparse.ArgumentParser()
for name in ("kernel", "group", "case", "dtype", "family"):
    parser.add_argument("--" + name, action="append", default=[])
for name in ("device", "cases", "out", "budget", "energy"):
    parser.add_argument("--" + name)
for name in ("quick", "all-kernels"):
    parser.add_argument("--" + name, action="store_true")
args = parser.parse_args()
tuning = os.environ.get("TCUOPS_TUNING", "")
with open(os.environ["FAKE_LOG"], "a") as f:
    f.write(json.dumps([args.kernel, args.group, tuning]) + "\n")
with open(args.out, "w") as f:
    f.write(json.dumps({"meta": "device", "value": "fake"}) + "\n")
    for group in args.group:
        for kernel in args.kernel or [""]:
            row = {"family": "reduce", "case": group, "dtype": "f16", "expr": "sum(a)", "shape": [8], "dims": [1], "who": "tcuops",
                   "kernel": kernel or "reduce.split", "us": 2.0, "correct": True}
            f.write(json.dumps(row | ({"pinned": True} if kernel else {})) + "\n")
