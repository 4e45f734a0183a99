"""The papers' experiments as named runs: ./run bench --paper NAME (or 'all', or 'list').

An experiment's cases are those of cases.json in the group of its name. It is measured with the planner's choice and
with every row of the library that its patterns match; which rows there are, the library says. What a run has to do
without, it lists under 'missing' in its result, bench/results/<gpu>/paper_<name>.json.
"""
import argparse
import ctypes
import fnmatch
import functools
import itertools
import json
import math
import os
import subprocess
import sys
from typing import NamedTuple

import report

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DAKKAK, NAVARRO, DIKBAYIR, ZOUZIAS = "Dakkak et al.", "Navarro et al.", "Dikbayir et al.", "Zouzias and McColl"


class Experiment(NamedTuple):
    name: str  # also the group of its cases
    title: str
    paper: str
    figure: str
    x: str  # of AXES
    y: tuple  # of QUANTITIES: a row of panels each
    kernels: tuple = ()  # rows to pin beside the planner's choice; patterns
    panels: tuple = (("", {}),)  # (title, which rows: field -> value): a column each
    peers: tuple = ()  # that the paper compares with: who, or a pattern of its kernel's name
    lacks: tuple = ()  # what the bench cannot do yet
    sweep: tuple = ()  # of the rows to pin: the numbers that the tuning table has for them, one run each: {"R": 4, "B": 128}


REDUCE_SCAN = (("reduction", {"family": "segmented_reduce"}), ("scan", {"family": "segmented_scan"}))
HALF_FLOAT = (("float16", {"dtype": "f16"}), ("float32", {"dtype": "f32"}))
NARROW = (("float16", {"dtype": "f16"}), ("bfloat16", {"dtype": "bf16"}), ("e4m3", {"dtype": "f8e4m3"}), ("e5m2", {"dtype": "f8e5m2"}))
RECURRENCE, SINGLE_PASS, SPLIT = "reduce.tcu.recurrence", "reduce.tcu.single_pass", "reduce.tcu.split"
SCAN_TCU = "scan.tcu.segmented"
VIRTUAL = ("reduce.virtual",)
SLIDING = ("broadcast.*", "broadcast.sliding_register", "broadcast.sliding_shared")
CUB_PARTS = ("*WarpReduce*", "*BlockReduce*", "*WarpScan*", "*BlockScan*")
TIME_SPEED_ERROR = ("us", "elements", "error_uniform", "error_normal")
CHAIN_BLOCK = tuple({"R": r, "B": b} for b in (32, 64, 128, 256, 512, 1024) for r in (1, 2, 4, 5, 8, 16))
FRACTION = tuple({"F": f} for f in (0, 10, 25, 50, 75, 90, 100))
DATA = {"uniform01": "uniform in [0, 1)", "normal": "normal", "alternating": "alternating large", "outlier": "a large one among small",
        "largest": "all 65504"}  # of runner/data.h
COUNTS = "the library's own counts (tcu_matmul_counts is not built): what is counted is the algorithm as published"


def over(**modes):
    return tuple((f"over {', '.join(name)}", {"dims": dims}) for name, dims in modes.items())


EXPERIMENTS = (
    Experiment("dakkak_fig3", "Matrix-vector product, square", DAKKAK, "Fig. 3", "order", ("gbps",),
               ("reduce.tcu.*",), HALF_FLOAT, ("cublas",)),
    Experiment("dakkak_fig10", "Segmented sum of 2^30 float16", DAKKAK, "Fig. 10", "segment", ("elements",),
               ("reduce.tcu.*",), peers=("cub",)),
    Experiment("dakkak_fig11", "Short segments of 2^30 float16", DAKKAK, "Fig. 11", "segment", ("elements",),
               ("reduce.tcu.*", SCAN_TCU), REDUCE_SCAN, CUB_PARTS),
    Experiment("dakkak_fig12", "Segmented scan of 2^30 float16", DAKKAK, "Fig. 12", "segment", ("elements",),
               (SCAN_TCU, "scan.tcu.lookback"), peers=("cub",)),
    Experiment("dakkak_fig13", "Full sum of float16", DAKKAK, "Fig. 13", "size", ("elements",),
               ("reduce.tcu.*",), peers=("cub",)),
    Experiment("dakkak_fig14", "Full scan of float16", DAKKAK, "Fig. 14", "size", ("elements",),
               ("scan.tcu.*", "scan.*matmulscan*"), peers=("cub",)),
    Experiment("dakkak_power", "Energy of segmented sum and scan of 2^30 float16", DAKKAK, "Sec. 6.3", "segment",
               ("joule",), ("reduce.tcu.*", SCAN_TCU), REDUCE_SCAN, ("cub",)),
    Experiment("navarro_fig3", "Recurrence by chain length and block size, 2^20 float16", NAVARRO, "Fig. 3", "chain",
               ("us",), (RECURRENCE,), sweep=CHAIN_BLOCK),
    Experiment("navarro_fig5", "Single pass by chain length and block size, 2^20 float16", NAVARRO, "Fig. 5", "chain",
               ("us",), (SINGLE_PASS,), sweep=CHAIN_BLOCK),
    Experiment("navarro_fig6", "A fraction on tensor cores, the rest on ordinary ones, 2^24 float16", NAVARRO, "Fig. 6", "fraction",
               ("us",), (SPLIT,), sweep=FRACTION),
    Experiment("navarro_fig7", "The three variants: full sum of float16", NAVARRO, "Fig. 7", "size", TIME_SPEED_ERROR,
               (RECURRENCE, SINGLE_PASS, SPLIT, "reduce.split")),
    Experiment("navarro_fig8", "Single pass beside CUB: full sum", NAVARRO, "Fig. 8", "size", TIME_SPEED_ERROR,
               (SINGLE_PASS,), HALF_FLOAT, ("cub",)),
    Experiment("navarro_error", "Errors of one sum over its magnitudes; the adversarial data are ours", NAVARRO, "Fig. 7, 8", "size",
               tuple("magnitudes_" + data for data in DATA), (RECURRENCE, SINGLE_PASS, SPLIT, "reduce.tcu.segmented"), NARROW),
    Experiment("dikbayir_fig9", "Sum of each slice of 2^26 float32", DIKBAYIR, "Fig. 9", "slice", ("gbps",),
               VIRTUAL),
    Experiment("dikbayir_fig10", "Third-order tensors of float32, sums of 4096", DIKBAYIR, "Fig. 10", "size",
               ("gbps",), VIRTUAL, over(x=[1], z=[3])),
    Experiment("dikbayir_fig11", "Fourth-order tensors of float32, sums of 64 × 64", DIKBAYIR, "Fig. 11", "size",
               ("gbps",), VIRTUAL, over(xy=[1, 2], zt=[3, 4])),
    Experiment("dikbayir_fig12", "Fifth-order tensors of float32, sums of 16 × 16 × 16", DIKBAYIR, "Fig. 12", "size",
               ("gbps",), VIRTUAL, over(xyz=[1, 2, 3], zts=[3, 4, 5])),
    Experiment("dikbayir_fig13", "A vector of 100 added to a matrix, float32", DIKBAYIR, "Fig. 13", "columns",
               ("gbps",), SLIDING),
    Experiment("dikbayir_fig14", "A vector of 1024 added to a matrix, float32", DIKBAYIR, "Fig. 14", "columns",
               ("gbps",), SLIDING),
    Experiment("zouzias_lemma1", "MatMulScan: how many products of s × s matrices", ZOUZIAS, "Lemma 1", "size",
               ("products", "depth"), ("scan.*matmulscan*",)),
)
# What a row of the library, by the first word of its name, can be asked to do.
FAMILIES = {"reduce": report.FOLDS, "scan": ("scan", "segmented_scan"),
            "broadcast": ("broadcast",)}
BY_NAME = {e.name: e for e in EXPERIMENTS}


class Quantity(NamedTuple):
    label: str
    of: object  # row -> number or None
    limit: object = lambda row: None  # the same of what bounds it
    limit_label: str = "ceiling"
    is_log: bool = False
    floor: float = 1e-9  # where 0 is drawn, if is_log


def per_time(amount):
    return lambda row: amount(row) / row["us"] / 1e3 if row.get("us") else None


def elements(row):
    return math.prod(row["shape"])


def on_plain_data(quantity):
    return lambda row: None if row.get("data") else quantity(row)


def error_on(data):
    """‖out − ref‖ / ‖ref‖, ‖ref‖ at least the norm of the summands"""
    return lambda row: row.get("error") if row.get("data") == data else None


def error_over_magnitudes_on(data):
    """|out − ref| / Σ|x|: ours only"""
    return lambda row: row.get("error_over_magnitudes") if row.get("data") == data else None


def elements_ceiling(row):
    return row["ceiling_gbps"] * elements(row) / row["bytes"] if row.get("ceiling_gbps") else None


AXES = {  # name: (label, row -> number or None)
    "order": ("rows and columns", lambda r: r["shape"][0]),
    "segment": ("elements to a segment", lambda r: r["shape"][0]),
    "size": ("elements", elements),
    "slice": ("elements to a slice", lambda r: r["shape"][0] * r["shape"][1]),
    "columns": ("columns of the matrix", lambda r: r["shape"][1]),
    "chain": ("R, products to a chain", lambda r: r.get("R")),
    "fraction": ("per cent on tensor cores", lambda r: r.get("F")),
}
QUANTITIES = {
    "gbps": Quantity("GB/s", per_time(lambda r: r["bytes"]), lambda r: r.get("ceiling_gbps")),
    "elements": Quantity("10⁹ elements/s", on_plain_data(per_time(elements)), elements_ceiling),
    "us": Quantity("µs", on_plain_data(lambda r: r.get("us")), lambda r: elements(r) / elements_ceiling(r) / 1e3
                   if elements_ceiling(r) else None, is_log=True),
    "error_uniform": Quantity("error, uniform in [0, 1); 0 is drawn at 10⁻⁹", error_on("uniform01"), is_log=True),
    "error_normal": Quantity("error, normal; 0 is drawn at 10⁻⁹", error_on("normal"), is_log=True),
    "joule": Quantity("J for 10⁹ elements, idle power not counted", lambda r: r.get("joule"), is_log=True),
    "products": Quantity("products in all", lambda r: r.get("products"), lambda r: r["products_bound"],
                         "Lemma 1", True),
    "depth": Quantity("products in sequence", lambda r: r.get("depth"), lambda r: r["depth_bound"], "Lemma 1"),
} | {"magnitudes_" + data: Quantity(f"error / Σ|x|, {words}; 0 is drawn at 10⁻¹²", error_over_magnitudes_on(data),
                                    is_log=True, floor=1e-12) for data, words in DATA.items()}


def chosen(name):
    """The experiments that 'all' or a name or the beginning of names (dakkak, dikbayir_fig1) stands for."""
    found = [e for e in EXPERIMENTS if name == "all" or name == e.name]
    found = found or [e for e in EXPERIMENTS if e.name.startswith(name)]
    if not found:
        sys.exit(f"bench: no experiment '{name}'; there are: " + ", ".join(BY_NAME))
    return found


def is_counted(experiment):
    """Nothing is timed: its rows are made here."""
    return experiment.name == "zouzias_lemma1"


# ---- which rows there are


def ask_library(device):
    """Prints the names of the device's rows, one a line; in a process of its own, so that no CUDA context stays."""
    library = ctypes.CDLL(os.environ.get("TCUOPS_LIBRARY") or os.path.join(ROOT, "build", "release", "libtcuops.so"))
    context, count, name = ctypes.c_void_p(), ctypes.c_int32(), ctypes.c_char_p()
    if library.tcu_context_create(ctypes.byref(context), device.encode(), 0):
        library.tcu_last_error.restype = ctypes.c_char_p
        sys.exit(library.tcu_last_error().decode())
    library.tcu_kernel_count(context, ctypes.byref(count))
    for i in range(count.value):
        library.tcu_kernel_name(context, i, ctypes.byref(name))
        print(name.value.decode())


@functools.cache
def library_rows(device):
    """The names of the library's rows on that device; None if it cannot be asked here."""
    try:
        told = subprocess.run([sys.executable, os.path.abspath(__file__), "--rows", device], capture_output=True,
                              text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return None
    return told.stdout.split() if told.returncode == 0 else None


def measured_rows(rows):
    return sorted({r["kernel"] for r in rows if r["who"] == "tcuops" and r.get("kernel")})


def pins(experiment, names):
    """The rows that its patterns match, and the patterns that match none."""
    found = {p: fnmatch.filter(names, p) for p in experiment.kernels}
    return list(dict.fromkeys(itertools.chain(*found.values()))), [p for p, matches in found.items() if not matches]


def tuning(kernel, point):
    """What TCUOPS_TUNING is to say for a point of a sweep."""
    number = point.get("R", point.get("F"))
    return f"{kernel}={number}" + (f":{point['B']}" if "B" in point else "")


def is_swept(row):
    """It is of other numbers than the tuning table's."""
    return any(k in row for k in ("R", "B", "F"))


def is_of(experiment, row):
    """Of a row that was pinned: a sweep shows what was swept, other experiments show nothing of that."""
    return bool(experiment.sweep) == is_swept(row)


def pinned_by(experiments, device):
    """{row of the library: names of the experiments that pin it}"""
    names = library_rows(device) if experiments else None
    who = {row: [e.name for e in experiments if row in pins(e, [row])[0]] for row in names or []}
    return {row: those for row, those in who.items() if those}


def missing(experiment, names, rows):
    """What the experiment had to do without, in words. names: the library's rows, or None if it could not be asked."""
    why = "not in this library" if names else "not measured, and the library could not be asked for its rows"
    told = [f"no row {p}: {why}" for p in pins(experiment, names or measured_rows(rows))[1]]
    have = {r["who"] for r in rows if r["who"] != "tcuops"} | {r["kernel"] for r in rows if r.get("kernel")}
    told += [f"no peer {p.strip('*')}: not measured" for p in experiment.peers if not fnmatch.filter(have, p)]
    ours = [r for r in rows if r["who"] == "tcuops"]
    told += [f"not measured: {QUANTITIES[y].label}" for y in experiment.y
             if ours and all(QUANTITIES[y].of(r) is None for r in ours)]
    told += [COUNTS] if is_counted(experiment) and not ours else []
    return told + list(experiment.lacks)


# ---- what is counted


def matmulscan(x, s):
    """Algorithm 1 of Zouzias and McColl on a list of s^k numbers, in place: (products of s x s matrices, depth).
    A product with L is a prefix sum within each s numbers; one with B adds the first of them to the others."""
    lengths = []

    def multiply(start, step, columns):
        y = x[start::step]
        for i in range(0, len(y), s):
            y[i:i + s] = columns(y[i:i + s])
        x[start::step] = y
        lengths.append(len(y))

    add_first = lambda c: c[:1] + [c[0] + v for v in c[1:]]
    k = round(math.log(len(x), s))
    for t in range(k):
        multiply(s ** t - 1, s ** t, lambda c: list(itertools.accumulate(c)))
    for t in range(k - 1, 0, -1):
        multiply(s ** t - 1, s ** (t - 1), add_first)
    return sum(-(-n // (s * s)) for n in lengths), len(lengths)


def library_counts(asked):
    """{(s, n): (products, depth, whether the sums are right)} as the library's own MatMulScan counts them; {} without its program."""
    try:
        told = subprocess.run([os.path.join(ROOT, "build", "release", "bench", "tcu_matmul_counts"), *map(str, itertools.chain(*asked))],
                              capture_output=True, text=True, timeout=60, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    lines = [list(map(int, line.split())) for line in told.splitlines()]
    return {(s, n): (products, depth, right == 1) for s, n, products, depth, right in lines}


def counted_rows(most=1 << 16):
    """Lemma 1: depth 2k-1 and at most ceil(2n / s(s-1)) + 2k-1 products for n = s^k. (The formulas are lost in our text
    of the paper. Derived: the t-th product of the first phase has at most ceil(n / s^(t+2)) of s x s, and so has the
    second, which has one less.) What is counted is the library's own, and right if the algorithm as published has as
    many; where its program is not built, it is that algorithm."""
    asked = [(s, k) for s in (2, 4, 8, 16, 32) for k in range(1, int(math.log(most, s) + 1e-9) + 1)]
    library = library_counts([(s, s ** k) for s, k in asked])
    rows = []
    for s, k in asked:
        n = s ** k
        x = [i * 7919 % 1009 for i in range(n)]
        expected = list(itertools.accumulate(x))
        products, depth = matmulscan(x, s)
        who, correct = "algorithm", x == expected
        if (s, n) in library:
            as_published = products, depth
            who, (products, depth, right) = "tcuops", library[s, n]
            correct = correct and right and (products, depth) == as_published
        rows.append({"family": "scan", "case": f"s={s} k={k}", "shape": [n], "dims": [1],
                     "dtype": "f64" if who == "tcuops" else "i64", "expr": "cumsum(a)", "who": who, "kernel": f"s = {s}",
                     "pinned": who == "tcuops", "us": None, "products": products, "products_bound": -(-2 * n // (s * (s - 1))) + 2 * k - 1,
                     "depth": depth, "depth_bound": 2 * k - 1, "correct": correct})
    return rows


# ---- the list


def shown(experiment):
    y = experiment.y if len(experiment.y) < 5 else (experiment.y[0], "...", experiment.y[-1])
    return f"{', '.join(y)} over {experiment.x}"


def listing(cases, results, names=None):
    """The table as text. names: the library's rows; None: those of the last results on a GPU."""
    whose = "the library's rows on cuda"
    if names is None:
        whose = "no GPU to ask the library on; the rows of the newest results of a GPU"
        of_gpus = [json.load(open(p)) for p in results if os.path.basename(os.path.dirname(p)) != "cpu"]
        names = measured_rows(r for result in of_gpus for r in result["rows"])
    text = [f"'missing' is told by: {whose}", f"{'name':16}{'cases':>6}  {'source':32}{'y over x':56}title"]
    for e in EXPERIMENTS:
        n = len(counted_rows()) if is_counted(e) else sum(e.name in c["groups"] for c in cases)
        text.append(f"{e.name:16}{n:6}  {e.paper + ', ' + e.figure:32}{shown(e):56}{e.title}")
        found, none = pins(e, names)
        lines = [("pinned", found), ("missing", [f"no row {p}" for p in none] + list(e.lacks))]
        text += [f"{'':24}{what}: {'; '.join(words)}" for what, words in lines if words]
    return "\n".join(text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", choices=["cpu", "cuda"], required=True)
    ask_library(parser.parse_args().rows)
