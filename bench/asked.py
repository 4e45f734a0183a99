"""What the project asks of the library on a GPU, and what of it the newest records show: tables of docs/performance.md."""
import collections
import glob
import json
import os
import re

import report

# By family: from so many bytes that must move on, that fraction.
ASKED = {"reduce": ((256 << 20, 0.95), (64 << 20, 0.90), (16 << 20, 0.85)), "broadcast": ((256 << 20, 0.95), (32 << 20, 0.90)),
         "scan": ((16 << 20, 0.93),)}
ASKED |= {"segmented_reduce": ASKED["reduce"], "segmented_scan": ASKED["scan"]}
SCAN_OF_16_BITS = 0.92
SHORT = {"tiny_d1": 1.6, "10x100_d1": 1.6, "10x100_d2": 1.6, "full_2^20": 2.8}  # microseconds inside a graph, float32
FUSED = {"fused_call_cold": ("the first of a process, off its tape", "60 ms"), "fused_next_cold": ("the next such", "60 ms"),
         "fused_ready_cold": ("from the first until NVRTC has compiled it", "60 ms"), "fused_next_ready_cold": ("from the next", "60 ms"),
         "fused_call_warm": ("the first, from the disk", "1 ms"), "fused_next_warm": ("the next, from the disk", "1 ms")}  # first.py's rows
BESIDE_LAUNCH = 1.0  # microseconds of a call of the host's, beyond a launch alone
ENOUGH = 1.05  # the planner's time over that of the best row, up to which it is right (bench/tune)
POSITION = 1.1  # times as long as the greatest element takes its position, at most
VIEW = 0.90  # of a broadcast with an input whose elements lie in another order than the result's, or with gaps


def is_view(case):
    return any(isinstance(i, dict) for i in case["inputs"])


def asked(row, case):
    """None: of so few bytes, or of that family, no fraction is asked."""
    least = next((fraction for bytes_, fraction in ASKED.get(row["family"], ()) if row["bytes"] >= bytes_), None)
    if least and row["family"] in ("scan", "segmented_scan") and row["dtype"] in ("f16", "bf16"):
        least = SCAN_OF_16_BITS
    return min(least, VIEW) if least and row["family"] == "broadcast" and is_view(case) else least


def judged(result, cases):
    """[(our row, its fraction, what is asked of it)] of what is asked something and was measured. A wrong result has the fraction 0."""
    of = {report.key(c): c for c in cases}
    rows = [r for r in report.timed(result) if r["who"] == "tcuops" and r["fraction"] and not r.get("pinned")]
    found = [(r, 0.0 if r["correct"] is False else r["fraction"], asked(r, of[report.key(r)])) for r in rows if report.key(r) in of]
    return [f for f in found if f[2]]


def table(result, cases):
    """A line a row of the library's: how many cases of it reach what is asked, and those that do not, the worst first."""
    by_kernel = {}
    for row, fraction, least in judged(result, cases):
        by_kernel.setdefault(row["kernel"], []).append((fraction / least, row, fraction, least))
    lines = []
    for kernel, found in sorted(by_kernel.items()):
        short = sorted((f for f in found if f[0] < 1), key=lambda f: f[0])
        names = "; ".join(f"{r['case']} {r['dtype']} {r['expr']} {fraction:.3f} ({least:.2f})" for _, r, fraction, least in short)
        lines.append([f"`{kernel}`", f"{len(found) - len(short)} of {len(found)}", names])
    return report.table(lines, ["row", "reach what is asked", "do not: fraction of the ceiling (asked)"])


def reached(result, cases):
    """How many cases reach what is asked, and of how many something is."""
    found = judged(result, cases)
    return sum(fraction >= least for _, fraction, least in found), len(found)


def counts(result, cases):
    """A line a family: how many of its cases reach what is asked."""
    found = judged(result, cases)
    lines = []
    for family, name in report.FAMILIES.items():
        of = [fraction >= least for row, fraction, least in found if row["family"] == family]
        if of:
            lines.append([name, f"{sum(of)} of {len(of)}"])
    lines.append(["all", "{} of {}".format(*reached(result, cases))])
    return report.table(lines, ["", "cases that reach what is asked"])


def short_work(result):
    """Of work whose microseconds inside a graph are given."""
    rows = {r["case"]: r for r in report.timed(result) if r["who"] == "tcuops" and r["dtype"] == "f32" and r["expr"] == "sum(a)"}
    lines = [[name, f"{r['us']:.2f}", f"{r['graph_us']:.2f}", f"{r['graph_cached_us']:.2f}", least]
             for name, least in SHORT.items() if (r := rows.get(name)) and r.get("graph_cached_us")]
    return report.table(lines, ["float32 sums", "us in a stream", "in a graph", "in a graph, of what the L2 cache holds", "asked in a graph"])


def positions(result):
    """What argmax takes beside max."""
    us = {report.key(r): r["us"] for r in report.timed(result) if r["who"] == "tcuops" and r.get("us")}
    lines = []
    for (case, dtype, expr), greatest in us.items():
        if expr == "max(a)" and (position := us.get((case, dtype, "argmax(a)"))):
            lines.append([case, dtype, f"{greatest:.1f}", f"{position:.1f}", f"{position / greatest:.2f}"])
    return report.table(lines, ["", "", "max, us", "argmax, us", f"argmax / max ({POSITION} asked)"])


def by_dtype(result, families):
    """Fractions, a line a problem and a column a dtype."""
    rows = [r for r in report.timed(result) if r["who"] == "tcuops" and r["family"] in families and r["fraction"]]
    dtypes = sorted({r["dtype"] for r in rows}, key=lambda d: (report.BYTES[d], d))
    of = {}
    for r in rows:
        of.setdefault((r["case"], r["expr"]), {})[r["dtype"]] = f"{r['fraction']:.3f}"
    return report.table([[case, expr] + [found.get(d, "") for d in dtypes] for (case, expr), found in of.items()], ["", ""] + dtypes)


def newest(result, folder):
    """What was run, on what, and how it stands beside the peers of the same run."""
    ours = [r for r in report.timed(result) if r["who"] == "tcuops" and r.get("us")]
    peers = collections.Counter(r["who"] for r in report.timed(result) if r["who"] != "tcuops" and r.get("us"))
    ratios = [r for r in map(report.ratio, report.by_case(report.timed(result)).values()) if r]
    did = ", ".join(f"{who} {n}" for who, n in peers.most_common())
    wrong = sum(r["correct"] is False for r in ours)
    plots = ", ".join(f"[{name}](../bench/results/{folder}/plots/overview_{family}.svg)" for family, name in report.FAMILIES.items() if family != "gemv")
    return (f"One {result['device']}, {result['date'][:10]}, source `{result['source'][:8]}`: [the table](../bench/results/{folder}/latest.md), {len(ours)} rows of ours, "
            f"{wrong or 'none'} of them wrong against float64. Plots: {plots}.\n\n"
            f"{len(ratios)} cases have a peer in the same run ({did}): geometric mean {report.geometric_mean(ratios):.2f} of the fastest one's time over ours. {behind(result)}")


def behind(result):
    """A sentence: in which cases a peer was the faster one, and by how much."""
    lines = []
    for (case, dtype, expr), found in report.by_case(report.timed(result)).items():
        if (ratio := report.ratio(found)) and ratio < 1:
            lines.append(f"{report.fastest_peer(found)['who']} in {case} {dtype} {expr}, by {100 / ratio - 100:.1f} %")
    return "A peer was faster in: " + "; ".join(lines) + "." if lines else "No peer was faster in any case."


def first_calls(result):
    """How long a call of tanh(x .* w .+ b) takes whose function is not there."""
    us = {r["case"]: r["us"] for r in result["rows"] if r["family"] == report.FIRST and r["who"] == "tcuops"}
    lines = [[what, report.duration(us[case]), least] for case, (what, least) in FUSED.items() if us.get(case)]
    if us.get("fused_call_again") and us.get("fused_call_other_size"):
        lines.append(["another size of it, beyond a repeated call", report.duration(us["fused_call_other_size"] - us["fused_call_again"]), "2 us"])
    return report.table(lines, ["`tanh(x .* w .+ b)` of 1024 x 1024 float32", "takes", "asked"])


def host(result):
    """A sentence: what calls of tcu_reduce cost the calling thread, of less work than the host can hide behind."""
    launch = result["launch_host_us"]
    over = [r["host_us"] - launch for r in report.timed(result)
            if r["who"] == "tcuops" and r["family"] == "reduce" and r.get("host_us") and r["us"] < 40]
    return (f"A launch alone took the host {launch:.1f} us; of {len(over)} `tcu_reduce` of less than 40 us of work {sum(o <= BESIDE_LAUNCH for o in over)} are within "
            f"{BESIDE_LAUNCH:.0f} us of that (asked), the slowest {max(over):.1f} us beyond it.")


def planner(results):
    """A line a record of random problems under `results` (./run tune --random), the newest seed first: of how many the planner was right."""
    lines = []
    for path in glob.glob(os.path.join(results, "h*", "tune_seed*.json")):
        with open(path) as f:
            record = json.load(f)
        seed, folder = int(re.search(r"seed(\d+)", path)[1]), os.path.basename(os.path.dirname(path))
        by_family = {}
        for r in record["rows"]:
            by_family.setdefault(r["planner"].split(".")[0], []).append(r["gain"] <= ENOUGH)
        right, n = sum(map(sum, by_family.values())), len(record["rows"])
        measured = [r["pinned"][r["measured"]] <= ENOUGH * min(r["pinned"].values()) for r in record["rows"] if r.get("measured") in r["pinned"]]
        worst = max(record["rows"], key=lambda r: r["gain"])
        lines.append((seed, [
            f"[{seed}](../bench/results/{folder}/tune_seed{seed}.json)", folder[:4].upper(), f"`{record['source'][:8]}`", n, f"{100 * right / n:.1f}",
            ", ".join(f"{100 * sum(by_family[f]) / len(by_family[f]):.0f}" if f in by_family else "-" for f in ("broadcast", "scan", "reduce")),
            f"{100 * sum(measured) / len(measured):.1f}" if measured else "",
            f"{worst['gain']:.1f}, {worst['expr']} {worst['dtype']} {'x'.join(map(str, worst['shape']))} by `{worst['planner']}`, not `{worst['best']}`"]))
    lines.sort(key=lambda line: -line[0])
    return report.table([line for _, line in lines], ["seed", "card", "source", "problems", "right by rules, %", "broadcasts, scans, reductions", "by measuring", "the worst by rules, times the best"])
