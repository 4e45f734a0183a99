"""What the papers on tensor cores claim, beside what the records of this device say: a table of docs/performance.md.

Every number of the two right columns but the reasons comes from the records. A claim's `measure` takes them and returns (what was
measured, verdict); None in place of that where a record is missing."""
from typing import NamedTuple

import papers
import records
import report
import tensor

SINGLE_PASS = papers.SINGLE_PASS
HOLDS, PART, NO, NOT = "holds", "in part", "does not hold", "not measured"
DAKKAK, NAVARRO, CARRASCO = papers.DAKKAK, papers.NAVARRO, "Carrasco et al."


class Claim(NamedTuple):
    paper: str
    where: str
    text: str
    measure: object
    why: dict  # verdict -> why it is so


def span(values, form="{:.2f}"):
    low, high = form.format(min(values)), form.format(max(values))
    return low if low == high else f"{low} to {high}"


def verdict(good):
    """of a list of truths"""
    return HOLDS if all(good) else PART if any(good) else NO


def pairs(known, expr, most, least=1 << 28):
    """{segment length: (rows of the problem, tensor row, ordinary row)} of float16, for powers of 2 from 16 to `most` that a row on tensor
    cores has been timed on; of several amounts of segments the newest record's."""
    found = {}
    for row in known.rows:
        n = records.length(row) if row["expr"] == expr and row["dims"] == [1] else 0
        if row["dtype"] != "f16" or not 16 <= n <= most or n & (n - 1) or records.elements(row) < least or n in found or row.get("data"):
            continue
        rows = known.of(row)
        best, ordinary = known.best(rows)
        if best:
            found[n] = rows, best, ordinary
    return dict(sorted(found.items()))


def share_of_the_copy(expr, most, least):
    def measure(known):
        found = {n: (known.fraction(t), known.fraction(o)) for n, (_, t, o) in pairs(known, expr, most).items() if o}
        if not found:
            return None
        reached = [n for n, (t, _) in found.items() if t >= least]
        text = (f"{span([t for t, _ in found.values()])} on tensor cores, {span([o for _, o in found.values()])} on ordinary ones, "
                f"{len(found)} lengths of {min(found)} to {max(found)}")
        if 0 < len(reached) < len(found):
            text += f"; reached at {', '.join(map(str, reached))}"
        return text, verdict([t >= least for t, _ in found.values()])
    return measure


def over_cub(expr, factor):
    """At the shortest segments; the others beside them."""
    def measure(known):
        found, of_one_length = {}, {}
        for n, (rows, best, ordinary) in pairs(known, expr, 1 << 14).items():
            cub = known.peer(rows, "cub")
            if cub and ordinary:
                found[n] = cub["us"] / best["us"], cub["us"] / ordinary["us"], cub["kernel"]
            if newer := known.newer_cub(rows):
                of_one_length.setdefault(newer["who"].upper(), []).append(f"{newer['us'] / best['us']:.2g} at {n}")
        if not found:
            return None
        first, *rest = found
        text = f"{found[first][0]:.3g} times {found[first][2]} at {first}, ordinary cores {found[first][1]:.3g} times"
        if rest:
            text += "; " + ", ".join(f"{found[n][0]:.2g} at {n}" for n in rest)
        text += "".join(f"; {who} {', '.join(told)}" for who, told in of_one_length.items())
        return text, verdict([found[first][0] >= factor])
    return measure


def gemv(known):
    found = {}
    for row in known.rows:
        if row["family"] != "gemv" or row["dtype"] != "f16" or row["shape"][0] != row["shape"][1] or row["shape"][0] in found:
            continue
        rows = [r for r in known.rows if r["family"] == "gemv" and r["shape"] == row["shape"]]
        best, ordinary = known.best([r for r in rows if r["dtype"] == "f16"])
        sgemv = known.peer([r for r in rows if r["dtype"] == "f32"], "cublas")
        hgemv = known.peer([r for r in rows if r["dtype"] == "f16"], "cublas")
        if best and ordinary and sgemv and hgemv:
            found[row["shape"][0]] = [sgemv["us"] / r["us"] for r in (best, ordinary, hgemv)]
    if not found:
        return None
    best, ordinary, hgemv = zip(*(found[n] for n in sorted(found)))
    text = (f"{span(best)} times cuBLAS's float32 on tensor cores, {span(ordinary)} on ordinary ones, {span(hgemv)} by cuBLAS's float16; "
            f"orders {min(found)} to {max(found)}")
    return text, verdict([b >= 2 for b in best])


def power(expr, least):
    """Between two machines the energy of one kernel differs by a tenth and more: rows of different records are compared by what the
    ordinary row has in each, where it is in both."""
    def measure(known):
        found, told, ours = [], [], []
        for n, (rows, best, ordinary) in pairs(known, expr, 1 << 20).items():
            cub = known.peer(rows, "cub")
            mine, its = (known.energy(r) if r else None for r in (best, cub))
            if not mine:
                continue
            plain = [known.energy(ordinary, r["file"]) if r and ordinary else None for r in (mine, its)]
            if plain[0]:
                ours.append(mine["joule"] / plain[0]["joule"])
            if its:
                drawn, used = (of(mine) / of(its) * (of(plain[1]) / of(plain[0]) if all(plain) else 1)
                               for of in (records.watts, lambda r: r["joule"]))
                found.append(1 - drawn)
                told.append(f"{n}: {drawn:.2f} of CUB's power for {used:.2g} of its energy")
        if not found:
            return None
        text = "; ".join(told) + (f"; {span(ours)} of the energy of ordinary cores" if ours else "")
        return text, verdict([f >= least for f in found])
    return measure


def largest(known, expr, least=1 << 28):
    """Of float16 on one line, the most elements that a row on tensor cores and CUB have been timed on: (rows of the problem, tensor row,
    ordinary row, CUB's row), or None."""
    for row in sorted(known.rows, key=records.elements, reverse=True):
        if row["expr"] != expr or row["dtype"] != "f16" or len(row["shape"]) != 1 or records.elements(row) < least or row.get("data"):
            continue
        rows = known.of(row)
        best, ordinary = known.best(rows)
        cub = known.peer(rows, "cub")
        if best and ordinary and cub:
            return rows, best, ordinary, cub
    return None


def full_sum(known):
    found = largest(known, "sum(a)")
    if not found:
        return None
    _, best, ordinary, cub = found
    faster, share = cub["us"] / best["us"], known.fraction(best)
    return (f"{faster:.2f} times CUB's speed, {share:.2f} of the streaming kernels'; ordinary cores {cub['us'] / ordinary['us']:.2f} "
            f"times CUB's; {tensor.amount(records.elements(best))}"), verdict([faster >= 1, share >= 0.98])


def full_scan(known):
    found = largest(known, "cumsum(a)")
    if not found:
        return None
    rows, best, ordinary, cub = found
    three = next((r for r in rows if r["kernel"] == "scan.tcu.three_launches"), None)
    if not three:
        return None
    times = lambda r: f"{cub['us'] / r['us']:.2f}"
    return (f"three launches {times(three)} times CUB's speed, one ({best['kernel']}) {times(best)}, ordinary cores {times(ordinary)}; "
            f"{tensor.amount(records.elements(best))}"), verdict([cub["us"] / three["us"] >= 1])


def fewer_instructions(known):
    found = {}
    for case in (r for r in known.counted if r["expr"] == "sum(a)" and r["dtype"] == "f16" and r["who"] == "cub" and len(r["shape"]) == 2):
        rows = [r for r in known.counted if report.key(r) == report.key(case)]
        kinds = [[r["per_element"] for r in rows if r["who"] == "tcuops" and records.is_tensor(r) == kind] for kind in (True, False)]
        if all(kinds):
            found[records.length(case)] = min(kinds[0]), min(kinds[1]), case["per_element"]
    if not found:
        return None
    text = "; ".join(f"{n}: {t:.2f} an element, ordinary cores {o:.2f}, CUB {c:.2f}" for n, (t, o, c) in sorted(found.items()))
    return text, verdict([t < c for t, _, c in found.values()])


def speedup(kernel, factor):
    """Of a row over the ordinary one, for the largest sum; where the row has no time, what the fastest one on tensor cores does."""
    def measure(known):
        own = [r for r in known.rows if r["kernel"] == kernel and r["expr"] == "sum(a)" and r["dtype"] == "f16" and not r.get("data")]
        best = max(own, key=records.elements, default=None)
        if best:
            ordinary = known.best([r for r in known.of(best) if r["file"] == best["file"]])[1]
        else:
            found = largest(known, "sum(a)")
            best, ordinary = found[1:3] if found else (None, None)
        if not best or not ordinary:
            return None
        gain = ordinary["us"] / best["us"]
        return (f"`{best['kernel']}` {gain:.2f} times `{ordinary['kernel']}`, which adds in registers and by shuffles; "
                f"{tensor.amount(records.elements(best))}"), verdict([gain >= factor]) if own else f"`{kernel}`: {NOT}"
    return measure


def over_cub_full(known):
    found = largest(known, "sum(a)")
    if not found:
        return None
    _, best, _, cub = found
    single = next((r for r in known.of(best) if r["kernel"] == SINGLE_PASS), best)
    floats = known.peer([r for r in known.rows if r["shape"] == best["shape"] and r["dtype"] == "f32" and r["expr"] == "sum(a)"], "cub")
    if not floats:
        return None
    half, whole = cub["us"] / single["us"], floats["us"] / single["us"]
    text = (f"`{single['kernel']}` {half:.2f} times CUB on float16, {whole:.2f} times CUB on float32; "
            f"{tensor.amount(records.elements(best))}")
    return text, verdict([half >= 1, whole >= 2]) if single["kernel"] == SINGLE_PASS else f"`{SINGLE_PASS}`: {NOT}"


def error(data, most):
    def measure(known):
        rows = [r for r in known.rows if records.is_tensor(r) and r["expr"] == "sum(a)" and r["dtype"] == "f16"
                and r.get("error") is not None and (r.get("data") == data or r["case"].endswith("_" + data))]
        own = [r for r in rows if r["kernel"] == SINGLE_PASS]
        rows = own or rows
        if not rows:
            return None
        counts = sorted(map(records.elements, rows))
        names = ", ".join(f"`{k}`" for k in dict.fromkeys(r["kernel"] for r in rows))
        return (f"{names}: {max(r['error'] for r in rows):.1e} at most, {tensor.amount(counts[0])} to {tensor.amount(counts[-1])}",
                verdict([r["error"] < most for r in own]) if own else f"`{SINGLE_PASS}`: {NOT}")
    return measure


def fastest_chain(kernel, length, block):
    """The fastest of a sweep over R and B, beside the paper's."""
    def measure(known):
        times = {(r["R"], r["B"]): r["us"] for r in known.sweep(kernel)}
        if not times:
            return None
        best = min(times, key=times.get)
        text = f"R = {best[0]}, B = {best[1]}: {times[best]:.2f} us"
        if (length, block) in times:
            text += f"; the paper's {times[length, block]:.2f} us"
        return text + f"; {min(times.values()):.2f} to {max(times.values()):.2f} us of {len(times)}", verdict([best == (length, block)])
    return measure


def slowest_when_split(known):
    """Of the three variants, on the largest sum that all have been timed on."""
    rows = [r for r in known.rows if r["expr"] == "sum(a)" and r["dtype"] == "f16" and not r.get("data")]
    for row in sorted((r for r in rows if r["kernel"] == papers.SPLIT), key=records.elements, reverse=True):
        us = {r["kernel"]: r["us"] for r in known.of(row) if r["file"] == row["file"] and r["kernel"] in VARIANTS}
        if len(us) == len(VARIANTS):
            order = sorted(us, key=us.get)
            return (", ".join(f"`{k}` {us[k]:.0f} us" for k in order) + f"; {tensor.amount(records.elements(row))}",
                    verdict([order[-1] == papers.SPLIT, order[0] == SINGLE_PASS]))
    return None


VARIANTS = (papers.RECURRENCE, SINGLE_PASS, papers.SPLIT)
BUSY = "on short segments CUB leaves the memory idle and draws less, for so much longer that it takes many times the energy"
HALF = "float16 has half the bytes; tensor cores add nothing to that, for ordinary ones gain as much"
EXACT = "products with 1 are exact, and the sums are float32 and float64 (docs/numerics.md)"
MEMORY = "one pass over the memory is what takes the time, on either kind of core"
CLAIMS = (
    Claim(DAKKAK, "6.3, Fig. 10 (abstract: 89 to 98 %)", "sums of 16 to 2^24 at 90 to 98 % of the copy's speed",
          share_of_the_copy("sum(a)", 1 << 24, 0.9), {HOLDS: MEMORY + ": ordinary cores do as well"}),
    Claim(DAKKAK, "6.3, Fig. 12", "scans of 16 to 2^19 at 89 to 97 % of the copy's speed", share_of_the_copy("cumsum(a)", 1 << 19, 0.89),
          {PART: "a line of 16 is one product; for longer ones sums are carried on by shuffles beside the products"}),
    Claim(DAKKAK, "6.3, abstract", "up to 100 times cub::DeviceSegmentedReduce, at segments of 16", over_cub("sum(a)", 100),
          {HOLDS: "CUB's routine by offsets gives a block to a segment, however short; that tensor cores add is not why: ordinary ones do "
                  "as well. CUB 3.6 has a routine for segments of one length, which CUDA 13.0's CUB has not"}),
    Claim(DAKKAK, "6.3, abstract", "3 times the scan by key at short segments", over_cub("cumsum(a)", 3),
          {HOLDS: "the scan by key goes through the same steps whatever the segments; ordinary cores gain as much"}),
    Claim(DAKKAK, "2.4, Fig. 3", "a matrix times a vector by tensor cores at least twice as fast as cuBLAS's SGEMV", gemv,
          {PART: HALF, HOLDS: HALF}),
    Claim(DAKKAK, "6.3, abstract (22 %)", "sums: 7.4 to 22.3 % less power than CUB", power("sum(a)", 0.074),
          {NO: BUSY, PART: BUSY}),
    Claim(DAKKAK, "6.3 (abstract: 16 %)", "scans: up to 17 % less power than by key, never more", power("cumsum(a)", 0),
          {NO: "the scan by key leaves the memory idle and draws less, for longer: it takes more energy"}),
    Claim(DAKKAK, "6.3", "fewer instructions than CUB", fewer_instructions, {}),
    Claim(DAKKAK, "6.4, Fig. 13", "large full sums slightly faster than CUB, within 98 % of the copy's speed", full_sum, {HOLDS: MEMORY}),
    Claim(DAKKAK, "6.4, Fig. 14", "large full scans, in three launches, slightly faster than CUB", full_scan,
          {HOLDS: "CUB's scan, with a float32 accumulator, is far from the memory's speed; three launches read all twice, one once"}),
    Claim(NAVARRO, "abstract; 5.4, Fig. 7", "the single pass about 3.2 times a warp-shuffle reduction", speedup(SINGLE_PASS, 3.2),
          {NO: MEMORY + "; the paper's single pass (420e9 elements a second) had the V100's memory busy, its shuffle reduction had not"}),
    Claim(NAVARRO, "5.1, Fig. 3", "the recurrence is fastest with R = 5, B = 32", fastest_chain(papers.RECURRENCE, 5, 32), {}),
    Claim(NAVARRO, "5.2, Fig. 5", "the single pass is fastest with R = 4, B = 128", fastest_chain(SINGLE_PASS, 4, 128), {}),
    Claim(NAVARRO, "5.4, Fig. 7", "of the three variants the single pass is the fastest for large n, the split the slowest",
          slowest_when_split, {}),
    Claim(NAVARRO, "6, Fig. 8", "the single pass slightly faster than CUB on float16 and twice as fast as CUB on float32", over_cub_full,
          {HOLDS: "half the bytes of float32"}),
    Claim(NAVARRO, "5.4, Fig. 7", "error below 1 % of a float64 sum, normal numbers", error("normal", 1e-2), {HOLDS: EXACT}),
    Claim(NAVARRO, "6, Fig. 8", "error below 0.001 %, uniform numbers", error("uniform01", 1e-5), {HOLDS: EXACT}),
    Claim(CARRASCO, "IV, eq. 17; V", "the recurrence of two products 3.2 times a reduction by halves (m = 4; 6.4 for m = 16)",
          speedup(papers.RECURRENCE, 3.2), {NO: "the model counts steps and no bytes; " + MEMORY}),
)


def lines(known):
    for claim in CLAIMS:
        measured, holds = claim.measure(known) or ("", NOT)
        yield [f"{claim.paper}, {claim.where}", claim.text, measured or NOT, holds if measured else "", claim.why.get(holds, "")]


def table(known):
    return report.table(lines(known), ["paper, section", "claim", "here", "", "why"])
