"""The tables of docs/performance.md about tensor cores beside ordinary cores and CUB, and about what ncu says of the memory."""
import math

import records
import report

NAMES = {"f16": "float16", "f32": "float32", "i8": "int8"}
NOT = "not measured"


def amount(n):
    """2^30, and what is as good as that (24 x 44739242), as a power of 2."""
    power = round(math.log2(n))
    return f"2^{power}" if power >= 17 and abs(n / 2 ** power - 1) < 1e-6 else str(n)


def label(case):
    n = records.length(case)
    fold = "sum" if case["expr"].startswith("sum") else "scan"
    whole = n == records.elements(case)
    return f"{fold} of {amount(n)}, {NAMES[case['dtype']]}" if whole else \
        f"{fold}s of {n}, {NAMES[case['dtype']]}, {amount(records.elements(case))} in all"


def cells(known, case, row):
    """time, energy, instructions, share of the DRAM's peak"""
    energy, count = known.energy(row), known.count(row, case)
    return [f"{row['us']:.1f}", f"{energy['joule']:.3f}" if energy else "-", f"{count['per_element']:.2f}" if count else NOT,
            f"{count['dram_share']:.0f}" if count and count["dram_share"] is not None else NOT]


def planned(known, case):
    """The kernel that the planner chooses, by the newest record that knows."""
    counted = [r["kernel"] for r in known.counted if report.key(r) == report.key(case) and r["planned"]]
    chosen = [r["kernel"] for r in known.of(case, who="tcuops") if not r.get("pinned") and r["file"] != "tensor"]  # which does not say
    return next(iter(counted + chosen), None)


def order(case):
    """Sums before scans, float16 before others, segments before one line, short before long."""
    return not case["expr"].startswith("sum"), case["dtype"] != "f16", -len(case["shape"]), records.length(case)


def lines(known, cases):
    for case in sorted((c for c in cases if "instructions" in c["groups"]), key=order):
        rows = known.of(case)
        tensor, ordinary = known.best(rows)
        choice, first = planned(known, case), label(case)
        for kind, row in (("tensor cores", tensor), ("ordinary cores", ordinary), ("CUB", known.peer(rows, "cub"))):
            if row:
                name = row["kernel"] if kind == "CUB" else f"`{row['kernel']}`" + (" *" if row["kernel"] == choice else "")
                yield [first, kind, name] + cells(known, case, row) + [row["file"]]
            else:
                yield [first, kind, "-", "-", "-", "-", "-", "-"]
            first = ""


def beside(known, cases):
    """Tensor cores, ordinary cores, CUB."""
    return report.table(lines(known, cases), ["", "", "row (*: the planner's)", "us", "nJ an element", "instructions an element",
                                              "% of the DRAM's peak", "times of"])


def bandwidth(known, cases):
    """What ncu says of the planner's choice on five cases of ordinary cores."""
    found = []
    for case in (c for c in cases if "bandwidth" in c["groups"]):
        row = next((r for r in known.counted if report.key(r) == report.key(case) and r["planned"]), None)
        name = f"{'x'.join(map(str, case['shape']))} over {','.join(map(str, case['dims']))}, {NAMES[case['dtype']]}"
        if not row:
            found.append([name] + [NOT] * 5)
            continue
        speed = (row["read"] + row["written"]) / row["ncu_us"] / 1e3 if row["moved"] is not None else None
        found.append([name, f"`{row['kernel']}`", report.number(speed, 0), report.number(row["dram_share"], 0),
                      report.number(row["moved"], 2), f"{row['per_vector']:.1f}"])
    return report.table(found, ["", "row", "GB/s by ncu", "% of the DRAM's peak", "bytes moved over those that must",
                                "instructions for 16 bytes"])
