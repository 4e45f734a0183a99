"""The tables of docs/performance.md about tensor cores beside ordinary cores and CUB, about segments beside every peer, about the
papers' chain lengths and block sizes, and about what ncu says of the memory."""
import math

import papers
import records
import report

NAMES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "i8": "int8", "f8e4m3": "e4m3"}
NOT = "not measured"
SEGMENTS = "tensor_segments"  # the record of ./run bench --group tensor with every peer


def amount(n):
    """2^30, and what is as good as that (24 x 44739242), as a power of 2."""
    power = round(math.log2(n))
    return f"2^{power}" if power >= 17 and abs(n / 2 ** power - 1) < 1e-6 else str(n)


def label(case):
    n, dtype = records.length(case), NAMES[case["dtype"]]
    fold = "sum" if case["expr"].startswith("sum") else "scan"
    if n == records.elements(case):
        return f"{fold} of {amount(n)}, {dtype}"
    what = f"rows of {n} times a vector" if case["expr"] == "sum(a*b)" else f"{fold}s of {n}"
    return f"{what}{', side by side' if 1 not in case['dims'] else ''}, {dtype}, {amount(records.elements(case))} in all"


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
        who, name_of_it = ("cublas", "cuBLAS") if case["family"] == "gemv" else ("cub", "CUB")
        peer, newer = (name_of_it, known.peer(rows, who)), known.newer_cub(rows)
        kinds = [("tensor cores", tensor), ("ordinary cores", ordinary), peer] + ([(newer["who"].upper(), newer)] if newer else [])
        for kind, row in kinds:
            if row:
                name = row["kernel"] if row["who"] != "tcuops" else f"`{row['kernel']}`" + (" *" if row["kernel"] == choice else "")
                yield [first, kind, name] + cells(known, case, row) + [row["file"]]
            else:
                yield [first, kind, "-", "-", "-", "-", "-", "-"]
            first = ""


def beside(known, cases):
    """Tensor cores, ordinary cores, CUB."""
    return report.table(lines(known, cases), ["", "", "row (*: the planner's)", "us", "nJ an element", "instructions an element",
                                              "% of the DRAM's peak", "times of"])


def segment_cells(known, case):
    found = {}
    for row in known.of(case, file=SEGMENTS) if case else []:
        if row["who"] != "tcuops" or not row.get("pinned"):
            found.setdefault(row["who"], row)
    ours = found.pop("tcuops", None)
    if not ours:
        return [NOT] * 5
    best = min(found.values(), key=lambda r: r["us"], default=None)
    times = lambda row: f"{row['us'] / ours['us']:.3g}" if row else "-"
    newer = next((row for who, row in found.items() if who.startswith("cub ")), None)
    return [f"{ours['us']:.1f}", f"{ours['fraction']:.3f}", f"{times(best)}, {best['who']}" if best else "-", times(found.get("cub")),
            times(newer)]


def segments(known, cases):
    """Sums of 2^30 16-bit floats in segments of one length, of one run: the planner's time, and how many times as long the peers took."""
    mine = {(records.length(c), c["dtype"]): c for c in cases
            if c["family"] == "segmented_reduce" and "tensor" in c["groups"] and c["expr"] == "sum(a)" and c["dtype"] in ("f16", "bf16")}
    lines = [[n] + [cell for dtype in ("f16", "bf16") for cell in segment_cells(known, mine.get((n, dtype)))]
             for n in sorted({n for n, _ in mine})]
    head = ["of the ceiling", "times the fastest peer", "CUB", "newer CUB"]
    return report.table(lines, ["segments of", "float16, us", *head, "bfloat16, us", *head])


def chains(known):
    """Microseconds of the papers' rows by the length of a chain and the threads of a block, and by the share of tensor cores."""
    lines = []
    for kernel in (papers.RECURRENCE, papers.SINGLE_PASS):
        at = {(r["R"], r["B"]): r["us"] for r in known.sweep(kernel)}
        blocks = sorted({p["B"] for p in papers.CHAIN_BLOCK})
        for length in sorted({p["R"] for p in papers.CHAIN_BLOCK}):
            lines.append([f"`{kernel}`", f"R = {length}"] + [f"{at[length, b]:.2f}" if (length, b) in at else NOT for b in blocks])
    share = {r["F"]: r["us"] for r in known.sweep(papers.SPLIT)}
    text = ", ".join(f"{f} %: {share[f]:.2f}" for f in sorted(share)) or NOT
    return report.table(lines, ["sum of 2^20 float16, us", ""] + [f"B = {b}" for b in blocks]) + \
        f"\n\n`{papers.SPLIT}`, 2^24 float16, us by the share of elements on tensor cores: {text}."


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
