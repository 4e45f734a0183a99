"""From runners' rows to a result: ceilings and fractions, tables, comparison of two runs. See run.py."""
import bisect
import json
import math
import statistics


HOST_BOUND = ("jax", "cupy")  # their times on a GPU hang on the host
FIRST = "first_result"  # rows that are not about bandwidth (first.py)
FAMILIES = {"reduce": "reductions", "segmented_reduce": "segmented sums", "broadcast": "broadcasts", "scan": "scans",
            "segmented_scan": "segmented scans", "gemv": "matrix-vector products"}
FOLDS = ("reduce", "segmented_reduce", "gemv")  # that leave one element of a dim


def key(row):
    return row["case"], row["dtype"], row["expr"]


class Ceilings:
    """The best streaming kernel's time for any number of bytes read and written. Measured points are joined by straight
    lines: in log(time) over log(bytes) within a mix, in time over the share of writes between mixes."""

    def __init__(self, points):
        self.points = points
        self.mixes = {}
        for p in points:
            share = round(p["written"] / p["bytes"], 2)
            self.mixes.setdefault(share, []).append((math.log(p["bytes"]), math.log(p["us"])))
        for curve in self.mixes.values():
            curve.sort()

    def _on_curve(self, curve, bytes_):
        x = math.log(max(bytes_, 1))
        if x <= curve[0][0]:  # the smallest point is launching alone
            return math.exp(curve[0][1])
        if x >= curve[-1][0]:  # beyond the largest: its bandwidth
            return math.exp(curve[-1][1] + x - curve[-1][0])
        i = bisect.bisect_left(curve, (x,))
        (x0, y0), (x1, y1) = curve[i - 1], curve[i]
        return math.exp(y0 + (y1 - y0) * (x - x0) / (x1 - x0))

    def ideal_us(self, read, written):
        if not self.mixes:
            return None
        bytes_, share = read + written, written / max(read + written, 1)
        shares = sorted(self.mixes)
        low = max((s for s in shares if s <= share), default=shares[0])
        high = min((s for s in shares if s >= share), default=shares[-1])
        t_low, t_high = self._on_curve(self.mixes[low], bytes_), self._on_curve(self.mixes[high], bytes_)
        return t_low if high == low else t_low + (t_high - t_low) * (share - low) / (high - low)


BYTES = {"bool": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "u8": 1, "u16": 2, "u32": 4, "u64": 8, "f16": 2, "bf16": 2,
         "f32": 4, "f64": 8, "f8e4m3": 1, "f8e5m2": 1}


def results(case):
    """Arrays that it writes: a broadcast of several expressions as many."""
    return 1 + case["expr"].count(",") if case["family"] == "broadcast" else 1


def traffic(case):
    """(bytes read, bytes written) of an entry of cases.json: each input element once, each output once."""
    shapes = [v if isinstance(v, list) else v["shape"] for v in case["inputs"]]
    read = sum(math.prod(s) for s in shapes) * BYTES[case["dtype"]]
    out = [1 if case["family"] in FOLDS and i + 1 in case["dims"] else e for i, e in enumerate(case["shape"])]
    return read, math.prod(out) * BYTES[case.get("out", case["dtype"])] * results(case)


def complete(rows, cases, ceilings):
    """Adds bytes, ceiling_gbps and fraction to rows, in place."""
    by_key = {key(c): c for c in cases}
    for row in rows:
        if row["family"] == FIRST:
            row["ceiling_gbps"] = row["fraction"] = None
            continue
        read, written = traffic(by_key[key(row)])
        ideal = ceilings.ideal_us(read, written)
        row["bytes"] = read + written
        row["ceiling_gbps"] = round((read + written) / ideal / 1e3, 1) if ideal else None
        row["fraction"] = round(ideal / row["us"], 4) if ideal and row.get("us") else None


def gbps(row):
    return row["bytes"] / row["us"] / 1e3 if row and row.get("us") else None


def number(x, digits=1):
    if x is None:
        return ""
    if digits == 1 and 0 < abs(x) < 1:
        return f"{x:.3f}"
    return f"{x:.{digits}f}"


def duration(us):
    """In the unit that it is read in: a process's start in seconds, a call in microseconds."""
    if us is None:
        return ""
    size, unit = next(((size, unit) for size, unit in ((1e6, "s"), (1e3, "ms")) if us >= size / 10), (1, "us"))
    return f"{us / size:.2f} {unit}"


def by_case(rows):
    """{key: {who: row}}, in the order of appearance."""
    cases = {}
    for row in rows:
        cases.setdefault(key(row), {})[row["who"]] = row
    return cases


def timed(result):
    return [r for r in result["rows"] if r["family"] != FIRST]


def fastest_peer(found):
    peers = [r for who, r in found.items() if who != "tcuops" and r.get("us")]
    return min(peers, key=lambda r: r["us"], default=None)


def ratio(found):
    """The fastest peer's time over ours, of one case of by_case(); None where one of them has none."""
    ours, best = found.get("tcuops"), fastest_peer(found)
    return best["us"] / ours["us"] if ours and ours.get("us") and best else None


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values))) if values else None


def table(lines, header):
    return "\n".join(["| " + " | ".join(header) + " |", "|" + "---|" * len(header)] +
                     ["| " + " | ".join(str(x) for x in line) + " |" for line in lines])


def section(title, header, lines):
    return f"\n\n## {title}\n\n" + table(lines, header) if lines else ""


def side_by_side(result, title, field, whos):
    """A section of one field, of the cases in which we have it."""
    lines = [list(k) + [number((found.get(w) or {}).get(field), 2) for w in whos]
             for k, found in by_case(timed(result)).items() if (found.get("tcuops") or {}).get(field)]
    return section(title, ["case", "dtype", "expr"] + whos, lines)


def markdown(result):
    """Worst fraction first; cases that we could not do, or did wrongly, before all others."""
    peers = sorted({r["who"] for r in timed(result)} - {"tcuops"})
    lines = []
    for (name, dtype, expr), found in by_case(timed(result)).items():
        ours, best = found.get("tcuops"), fastest_peer(found)
        us, fraction = ours and ours.get("us"), ours and ours.get("fraction")
        state = "" if ours and ours["correct"] else "not measured" if not ours else "WRONG" if us else "failed"
        lines.append((fraction if us and ours["correct"] else -1.0, [
            name, dtype, expr, (ours or {}).get("kernel") or "", number(us), number(gbps(ours)),
            number((ours or best or {}).get("ceiling_gbps")), number(fraction, 3), state,
            f"{best['who']} {number(best['us'])}" if best else "", number(ratio(found), 2),
            ", ".join(f"{p} {number(found[p]['us'])}" for p in peers if found.get(p, {}).get("us"))]))
    lines.sort(key=lambda l: l[0] if l[0] is not None else 0)
    head = (f"# {result['device']}, {result['date']}\n\nDriver: {result['driver']}. Source: `{result['source'][:16]}`. "
            "Times are medians in microseconds; `fraction` is the ceiling's time over ours, `ratio` the fastest peer's "
            "time over ours (above 1: we are faster). docs/performance.md says how to read it.\n\n")
    body = table([line for _, line in lines], ["case", "dtype", "expr", "kernel", "us", "GB/s", "ceiling GB/s",
                                               "fraction", "", "fastest peer", "ratio", "peers (us)"])
    first = [[r["who"], r["case"], duration(r["us"]), number(r["bytes"] / 1e6) if r["bytes"] else "", r.get("note", r["method"])]
             for r in result["rows"] if r["family"] == FIRST]
    body += side_by_side(result, "Short work as a CUDA graph, microseconds a call", "graph_us", ["tcuops", "cub", "cublas", "torch"])
    body += side_by_side(result, "The same on operands in the L2 cache, microseconds a call", "graph_cached_us", ["tcuops", "cub", "cublas"])
    body += side_by_side(result, "Energy, joules for 10^9 elements, the idle device's not counted", "joule", ["tcuops", "cub", "cublas"])
    body += section("Time to the first result, and what it takes to have the library", ["who", "what", "time", "MB", ""], first)
    ceilings = table([[p["ceiling"], f"{p['bytes']:.0f}", number(p["us"]), number(p["gbps"]), p["variant"]]
                      for p in result.get("ceilings", [])], ["mix", "bytes", "us", "GB/s", "best variant"])
    return head + body + "\n\n## Ceilings\n\n" + ceilings + "\n"


def comparison(result, peers):
    """The text table of ours against chosen peers in GB/s, with the geometric mean of the ratios to the faster one."""
    names = "".join(f"{p:>9}" for p in peers)
    text = ["GB/s; ratio: our speed over the fastest peer's; fraction: our speed over the ceiling's",
            f"{'case':27}{'dtype':6}{'expr':15}{'tcuops':>9}{names}{'ratio':>8}{'fraction':>10}"]
    ratios, slower = [], []
    for (name, dtype, expr), found in by_case(timed(result)).items():
        ours, times = found.get("tcuops"), ratio(found)
        if times:
            ratios.append(times)
            if times < 1:
                slower.append(name)
        note = "" if not ours else ("" if ours["correct"] else "  WRONG") + "  " + (ours.get("note") or "")
        speeds = "".join(f"{number(gbps(found.get(p))):>9}" for p in ["tcuops"] + peers)
        fraction = number((ours or {}).get("fraction"), 3)
        text.append(f"{name:27}{dtype:6}{expr:15}{speeds}{number(times, 2):>8}{fraction:>10}{note[:100].rstrip()}")
    if ratios:
        text.append(f"geometric mean of the ratios: {geometric_mean(ratios):.2f} over {len(ratios)} cases; slower "
                    f"than the fastest peer in {len(slower)}" + (": " + ", ".join(slower) if slower else ""))
    return "\n".join(text)


def compare_runs(old_path, new_path):
    """What moved by more than the noise. A family's noise is what its peers moved, whose programs are the same in both
    runs (the 90th percentile of their changes; those that the host slows left out), or, of one source, what ours moved;
    a row's own is at least twice its spread; 2% at least."""
    old, new = (json.load(open(p)) for p in (old_path, new_path))
    before = {(r["who"],) + key(r): r for r in old["rows"] if r.get("us")}
    changes = [(before[k], r) for r in new["rows"] if r.get("us") and (k := (r["who"],) + key(r)) in before]
    same_source = old["source"] == new["source"]
    noise = {}
    for a, b in changes:
        if a["who"] == "tcuops" if same_source else a["who"] not in ("tcuops",) + HOST_BOUND:
            noise.setdefault(b["family"], []).append(abs(math.log(b["us"] / a["us"])))
    noise = {f: sorted(v)[int(0.9 * (len(v) - 1))] for f, v in noise.items()}
    whose = "our rows, the source being the same," if same_source else "the peers' rows"
    text = [f"{age}: {r['device']}, {r['date']}, {r['source'][:12]}" for age, r in (("old", old), ("new", new))]
    text.append(f"noise by family (90% of {whose} moved less): " +
                ", ".join(f"{f} {100 * math.expm1(v):.1f}%" for f, v in sorted(noise.items())))
    moved = []
    for a, b in changes:
        if b["who"] != "tcuops":
            continue
        change = math.log(b["us"] / a["us"])
        spread = 2 * max(a.get("us_spread") or 0, b.get("us_spread") or 0)
        if abs(change) > max(0.02, noise.get(b["family"], 0.02), spread):
            kernel = b["kernel"] if a["kernel"] == b["kernel"] else f"{a['kernel']} -> {b['kernel']}"
            moved.append((change, f"{100 * math.expm1(change):+7.1f}%  {b['case']:28} {b['dtype']:5} {b['expr']:14} "
                                  f"{number(a['us'])} -> {number(b['us'])} us  {kernel}"))
    moved.sort(reverse=True)
    text += [line for _, line in moved] or ["nothing of ours moved by more than that"]
    after = {(r["who"],) + key(r) for r in new["rows"] if r.get("us")}
    gone = [k[1] for k in before if k[0] == "tcuops" and k not in after]
    if gone:
        text.append(f"{len(gone)} cases of the old run have no time in the new one: " + ", ".join(gone[:12]))
    return "\n".join(text)
