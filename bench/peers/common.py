"""What the Python peers share: the cases, their expressions, rotation, statistics, the check, and the rows.

A peer module gives a class with
    name, version, supports(case) -> reason or None, prepare(case) -> a generator of (label, call(k) -> result), one for
    each way to do the case, of which the fastest counts,
    time(call, case) -> samples in microseconds, to_numpy(array), check_inputs() -> the operands of call(0), release(),
    and perhaps take(array, slices), if array[slices] is not the way, and warm(cases), which is called before all
and ends in common.main(Peer). Arrays are row-major with the reversed shape wherever the library is row-major: the same
memory as the column-major case. Every axis below is an axis of such a reversed array.
"""
import argparse
import ast
import json
import math
import os
import re
import sys
import time

import numpy as np


def wide(dtype):
    """What sums of a dtype are to be kept in: float32 for 16-bit floats; None for others: as the library does by itself."""
    return np.float32 if np.dtype(dtype).itemsize == 2 else None


def norm(x, out=None, **how):
    return np.sqrt(np.sum(np.square(x, dtype=wide(x.dtype)), **how), out=out, casting="same_kind")


def logsumexp(x, out=None, **how):
    most = np.max(x, axis=how.get("axis"), keepdims=True)
    sums = np.sum(np.exp(x - most), dtype=wide(x.dtype), **how)
    return np.add(np.log(sums), most if how.get("keepdims") else np.squeeze(most), out=out, casting="same_kind")


def deviation(f):
    return lambda x, **how: f(x, ddof=1, dtype=wide(x.dtype), **how)


# f(x, axis=, keepdims=, out=) of the folds of cases.json that leave one element. NumPy's own, where it has them.
FOLDS = {**{n: getattr(np, n) for n in ("sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "mean")},
         "var": deviation(np.var), "std": deviation(np.std), "norm": norm, "logsumexp": logsumexp}
BYTES = {"bool": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "u8": 1, "f16": 2, "bf16": 2, "f32": 4, "f64": 8,
         "f8e4m3": 1, "f8e5m2": 1}


class Case:
    def __init__(self, entry):
        self.entry = entry
        self.family, self.name, self.dtype = entry["family"], entry["case"], entry["dtype"]
        self.shape, self.expr = entry["shape"], entry["expr"]
        self.out, self.data = entry.get("out", self.dtype), entry.get("data", "")
        outer = re.fullmatch(r"(\w+)\((.*)\)", self.expr) if self.family != "broadcast" else None
        self.fold, self.inner = (outer[1], outer[2]) if outer else ("", self.expr)
        self.is_scan = self.fold.startswith("cum") or self.fold == "recurrence"
        self.results = 1 + self.expr.count(",") if self.family == "broadcast" else 1  # a tuple where there are several
        self.axes = tuple(len(self.shape) - d for d in entry["dims"])
        self.inputs = [v if isinstance(v, list) else None for v in entry["inputs"]]  # None: a view with strides
        self.out_shape = [1 if self.fold in FOLDS and i + 1 in entry["dims"] else e for i, e in enumerate(self.shape)]

    def bytes(self):
        shapes = [v if isinstance(v, list) else v["shape"] for v in self.entry["inputs"]]
        return sum(math.prod(s) for s in shapes) * BYTES[self.dtype] + math.prod(self.out_shape) * BYTES[self.out] * self.results

    def sets(self, cache_bytes):
        """How many sets of operands to rotate among; the same rule as rotation() in runner/cases.cpp."""
        return min(max(-(-4 * cache_bytes // max(self.bytes(), 1)), 1), 4096)

    def key(self):
        return self.name, self.dtype, self.expr

    def is_plain(self):
        """The expression is its first input, unchanged."""
        return self.inner == "a"


class NoSuchFunction(Exception):
    pass


def evaluate(text, inputs, functions, out=None):
    """The value of 'tanh(a*b+c)'. functions: name -> f(x..., out); operators are add, subtract, multiply, divide,
    negative. With out, every step that can be is written into it, as a careful user would do."""
    operators = {ast.Add: "add", ast.Sub: "subtract", ast.Mult: "multiply", ast.Div: "divide", ast.USub: "negative"}

    def call(name, *args, out):
        if name not in functions:
            raise NoSuchFunction(name)
        return functions[name](*args, out)

    def is_leaf(node):
        return isinstance(node, (ast.Name, ast.Constant))

    def walk(node, out):
        if isinstance(node, ast.Name):
            return inputs[ord(node.id) - ord("a")]
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Tuple):
            return tuple(walk(each, None) for each in node.elts)
        if isinstance(node, ast.UnaryOp):
            return call(operators[type(node.op)], walk(node.operand, out), out=out)
        if isinstance(node, ast.Call):
            return call(node.func.id, walk(node.args[0], out), out=out)
        left = walk(node.left, out)
        right = walk(node.right, out if is_leaf(node.left) else None)
        return call(operators[type(node.op)], left, right, out=out)

    return walk(ast.parse(text, mode="eval").body, out)


NUMPY_FUNCTIONS = {
    **{n: (lambda f: lambda *a: f(*a[:-1], out=a[-1]))(getattr(np, n))
       for n in ("add", "subtract", "multiply", "divide", "negative", "tanh", "exp", "log", "sqrt", "abs")},
    "abs2": lambda x, out: np.multiply(x, x, out=out),
}


def recurrence(values, axis):
    """y[i] = a[i] * y[i-1] + x[i] of values (a, x)."""
    a, x = (np.moveaxis(v, axis, 0) for v in np.broadcast_arrays(*values))
    y = np.zeros_like(x)
    for i in range(len(x)):
        y[i] = a[i] * (y[i - 1] if i else 0) + x[i]
    return np.moveaxis(y, 0, axis)


def check(case, peer, result, inputs, rng=np.random.default_rng(3)):
    """(correct, error) of sampled outputs against float64, or (None, None) where that would take long.
    The error is that of runner/check.cpp: ||out - ref|| / ||ref||, a sum's or mean's ||ref|| at least that of its summands."""
    axes = case.axes
    length = math.prod(inputs[0].shape[a] for a in axes)
    if length > 1 << 24 and not case.is_scan:
        return None, None
    shape = tuple(reversed(case.shape))
    take = getattr(peer, "take", lambda x, pick: x[pick])
    got, ref, scale = [], [], 0.0
    for _ in range(3 if length > 1 << 20 else 20):
        index = [int(rng.integers(e)) for e in shape]
        where = [slice(0, min(e, 1 << 16)) if a in axes and case.is_scan else slice(None) if a in axes
                 else slice(index[a], index[a] + 1) for a, e in enumerate(shape)]
        parts = []
        for x in inputs:
            pick = tuple(slice(0, 1) if x.shape[a] == 1 else where[a] for a in range(len(shape)))
            parts.append(np.asarray(peer.to_numpy(take(x, pick)), dtype=np.float64))
        extents = tuple(1 if a not in axes else len(range(*where[a].indices(shape[a]))) for a in range(len(shape)))
        value = evaluate(case.inner, parts, NUMPY_FUNCTIONS)
        if case.fold != "recurrence":
            value = np.broadcast_to(value[0] if case.results > 1 else value, extents)  # of several results the first
        pick = tuple(where[a] if a not in axes or case.is_scan else slice(0, 1) for a in range(len(shape)))
        got.append(np.asarray(peer.to_numpy(take(result[0] if case.results > 1 else result, pick)), dtype=np.float64).ravel())
        if case.fold == "recurrence":
            expected = recurrence(value, axes[0])
        elif case.is_scan:
            expected = getattr(np, case.fold)(value, axis=axes[0])
        else:
            expected = FOLDS[case.fold](value) if case.fold else value
        ref.append(np.ravel(expected))
        if case.fold in ("sum", "cumsum", "mean"):
            scale += float(np.sum(value ** 2)) / (value.size ** 2 if case.fold == "mean" else 1)
    got, ref = np.concatenate(got), np.concatenate(ref)
    norm = max(float(np.sum(ref ** 2)), scale)
    error = math.sqrt(float(np.sum((got - ref) ** 2)) / norm) if norm else float(np.abs(got - ref).max())
    # Peers are only asked for the right operation; how exactly they do it is their 'error'.
    return bool(error < {"f64": 1e-9, "f32": 1e-3}.get(case.dtype, 5e-2)), error


def wall_samples(run, quick, target_us, synchronize=lambda: None):
    """Microseconds a call: batches of target_us, each ended by synchronize()."""
    def batch(first, n):
        start = time.perf_counter()
        for k in range(first, first + n):
            run(k)
        synchronize()
        return (time.perf_counter() - start) * 1e6 / n

    batch(0, 1)
    us = min(batch(1, 1), batch(2, 1))
    n = min(max(math.ceil(target_us / us), 1), 10000)
    samples = min(max(int((0.4e6 if quick else 1.5e6) / (us * n)), 3), 31)
    return [batch(3 + s * n, n) for s in range(samples)]


def statistics(samples):
    t = sorted(samples)
    at = lambda q: t[min(len(t) - 1, int(q * len(t)))]
    return {"us": at(0.5), "us_min": t[0], "us_spread": (at(0.75) - at(0.25)) / at(0.5)}


def select(path, args):
    for entry in json.load(open(path))["cases"]:
        if ((not args.group or set(args.group) & set(entry["groups"]))
                and (not args.case or any(c in entry["case"] for c in args.case))
                and (not args.dtype or entry["dtype"] in args.dtype)
                and (not args.family or entry["family"] in args.family)):
            yield Case(entry)


def main(make_peer):
    start = time.monotonic()
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", default="bench/cases.json")
    parser.add_argument("--out", default="/dev/stdout")
    for name in ("group", "case", "dtype", "family"):
        parser.add_argument("--" + name, action="append")
    parser.add_argument("--budget", type=float, default=1e9)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--skip", type=int, default=0, help="the first so many cases: for the process that goes on after a fault")
    args = parser.parse_args()
    peer = make_peer(args)
    with open(args.out, "a" if args.skip else "w", buffering=1) as out:
        if not args.skip:
            print(json.dumps({"meta": peer.name, "value": peer.version}), file=out)
        cases = list(select(args.cases, args))[args.skip:]
        getattr(peer, "warm", lambda cases: None)(cases)
        for done, case in enumerate(cases, 1):
            if time.monotonic() - start > args.budget:
                print(json.dumps({"meta": "left out", "value": f"{peer.name}: the time budget was spent"}), file=out)
                break
            if peer.supports(case) or (case.data and case.data not in getattr(peer, "data", ())):
                continue
            if "into" in case.entry or (case.family == "broadcast" and case.is_plain()):
                continue  # where out is a view; a copy, which a peer answers with its operand
            e = case.entry
            row = {k: e[k] for k in ("family", "case", "shape", "dims", "dtype", "expr", "data") if k in e}
            row.update(who=peer.name, bytes=case.bytes(), kernel=None, us=None, us_min=None, graph_us=None, host_us=None, joule=None,
                       correct=None, error=None, method=peer.method)
            ways = peer.prepare(case)
            while True:
                try:
                    label, run = next(ways)
                    result = run(0)
                    if row["us"] is None and (not args.quick or case.bytes() < 64 << 20):  # large ones: in a full run
                        row["correct"], row["error"] = check(case, peer, result, peer.check_inputs())
                    del result
                    measured = statistics(peer.time(run, case))
                    if row["us"] is None or measured["us"] < row["us"]:
                        row.update(measured, kernel=label, method=peer.method, graph_us=getattr(peer, "graph_us", None))
                except StopIteration:
                    break
                except Exception as error:  # what a library cannot do is a row without a time, or one way less
                    row["note"] = f"{type(error).__name__}: {error}"[:200]
                    if isinstance(error, MemoryError) or row["us"] is None:
                        break
            if row["us"] is None and "note" not in row:
                continue  # it has no way to do this case
            faulted = bool(re.search("illegal.?address", row.get("note", ""), re.I))  # in the peer's own kernel: on this process's device nothing works any more
            if not faulted:
                peer.release()
            print(json.dumps(row), file=out)
            if row["us"]:
                print(f"{peer.name:8} {case.name:28} {case.dtype:5} {case.expr:14} {row['us']:10.1f} us "
                      f"{row['bytes'] / row['us'] / 1e3:8.1f} GB/s {'' if row['correct'] in (True, None) else 'WRONG'}",
                      file=sys.stderr)
            else:
                print(f"{peer.name:8} {case.name:28} {case.dtype:5} {row.get('note')}", file=sys.stderr)
            if faulted:
                left = args.budget - (time.monotonic() - start)
                os.execv(sys.executable, [sys.executable, *sys.argv, "--skip", str(args.skip + done), "--budget", str(left)])
