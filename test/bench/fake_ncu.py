#!/usr/bin/env python3
"""Stands for ncu in test_instructions.py: starts the program that it is given and writes, in place of counts, what FAKE_LAUNCHES says.

FAKE_LAUNCHES names a file of [kernel, blocks, {metric: text}], a launch each; FAKE_UNKNOWN lists metrics that this ncu does not have."""
import json
import os
import subprocess
import sys

UNITS = {"smsp": "inst", "sm": "inst", "dram": "byte", "gpu": "ns", "launch": "register/thread"}
HEAD = ["ID", "Process ID", "Process Name", "Host Name", "Kernel Name", "Context", "Stream", "Block Size", "Grid Size", "Device", "CC"]


def line(fields):
    return ",".join('"' + f.replace('"', '""') + '"' for f in fields)


def main():
    unknown = os.environ.get("FAKE_UNKNOWN", "").split()
    if "--version" in sys.argv:
        print("NVIDIA (R) Nsight Compute Command Line Profiler\nVersion 2025.3.1.0 (build 0) (public-release)")
        return 0
    if "--query-metrics" in sys.argv:
        names = [m for m in ("smsp__inst_executed", "smsp__inst_issued", "sm__inst_executed_pipe_tensor_op_hmma", "dram__bytes_read",
                             "dram__bytes_write", "gpu__time_duration", "dram__throughput") if m not in unknown]
        print("Device NVIDIA H200 (GH100)\n-----\nMetric Name   Metric Type   Metric Unit\n-----")
        print("\n".join(f"{m}    Counter    inst    what it is" for m in names))
        return 0
    words = sys.argv[1:]
    value = lambda option: words[words.index(option) + 1]
    assert value("--clock-control") == "none" and value("--profile-from-start") == "off" and value("--page") == "raw"
    asked, log = value("--metrics").split(","), open(value("--log-file"), "w")
    print(f"==PROF== Connected to process 1 ({words[0]})", file=log)
    refused = [m for m in asked if m.split(".")[0] in unknown]
    if refused:
        print(f"==ERROR== Failed to find metric {refused[0]}", file=log)
        return 1
    status = subprocess.run(words[words.index("--log-file") + 2:]).returncode
    launches = json.load(open(os.environ["FAKE_LAUNCHES"]))
    for i, (kernel, _, _) in enumerate(launches):
        print(f'==PROF== Profiling "{kernel}" - {i}: 0%....50%....100% - 4 passes', file=log)
    print("==PROF== Disconnected from process 1", file=log)
    if not launches:
        print("==WARNING== No kernels were profiled.", file=log)
        return 0
    print(line(HEAD + asked), file=log)
    print(line([""] * len(HEAD) + ["%" if ".pct" in m else UNITS[m.split("__")[0]] for m in asked]), file=log)
    for i, (kernel, blocks, counts) in enumerate(launches):
        print(line([str(i), "1", "tcu_bench", "127.0.0.1", kernel, "1", "13", "(256, 1, 1)", f"({blocks}, 1, 1)", "0", "9.0"] +
                   [counts.get(m, "0") for m in asked]), file=log)
    return status


if __name__ == "__main__":
    sys.exit(main())
