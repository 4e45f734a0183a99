#!/usr/bin/env python3
"""./run bench --instructions: what ncu counts of every row of the library that takes a case, and of CUB.

One ncu over one tcu_bench --once, and one over one tcu_peer_cub --once, on the cases of the groups 'instructions' and 'bandwidth' of
cases.json. The programs call each row first, and open the profiler for one more call, between two launches of an empty kernel whose
grid is the row's number (bench/runner/once.h): so launches are known by their order, and what does not fit is an error. A row of the
library that is more than ten times as slow as the fastest is left out, and said to be. Writes bench/results/<gpu>/instructions.json, a
row a case and row of the library:
  planned            the planner chose it
  launches, kernels  how many kernels one call launches, and their names
  executed, issued   instructions of warps; tensor: those of them that went to the tensor cores' pipe, to
                     which the compiler's HFMA2.MMA, a register set to zero, goes too: ordinary kernels have a few
  per_element        32 executed / elements of the iteration space: instructions of threads; per_vector: for 16 bytes of the input
  read, written      bytes of the DRAM; moved: their sum over the bytes that must move
  ncu_us             time of the launches with caches emptied before each; not comparable with ./run bench's
  dram_share         of the DRAM's peak, in per cent, weighted by time; registers: of a thread, the most of any launch
What ncu and the programs wrote stays in build/log/instructions; python3 bench/instructions.py FOLDER makes the record of such a folder.
"""
import csv
import itertools
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time

import report
import run

GROUPS = ["instructions", "bandwidth"]
FOLDER = os.path.join(run.ROOT, "build", "log", "instructions")
MARK = "tcu_bench_mark"
OPS = ("hmma", "imma", "dmma")
# field: what it may be called, the first that this ncu knows is taken; of several names in one the sum of those that it knows.
METRICS = {
    "executed": (("smsp__inst_executed.sum",),),
    "issued": (("smsp__inst_issued.sum",),),
    "tensor": (tuple(f"sm__inst_executed_pipe_tensor_op_{op}.sum" for op in OPS),
               tuple(f"smsp__inst_executed_pipe_tensor_op_{op}.sum" for op in OPS),
               ("sm__inst_executed_pipe_tensor.sum",), ("smsp__inst_executed_pipe_tensor.sum",)),
    "read": (("dram__bytes_read.sum",), ("dram__bytes_op_read.sum",)),
    "written": (("dram__bytes_write.sum",), ("dram__bytes_op_write.sum",)),
    "ncu_us": (("gpu__time_duration.sum",),),
    "dram_share": (("dram__throughput.avg.pct_of_peak_sustained_elapsed",),),
    "registers": (("launch__registers_per_thread",),),
}
NEEDED = ("executed", "ncu_us")
# What base units are, and what ncu writes where it scales them all the same.
UNITS = {"ns": 1e-3, "nsecond": 1e-3, "us": 1, "usecond": 1, "ms": 1e3, "msecond": 1e3, "s": 1e6, "second": 1e6, "byte": 1, "Kbyte": 1e3,
         "Mbyte": 1e6, "Gbyte": 1e9, "inst": 1, "%": 1, "register/thread": 1, "": 1}


class Wrong(Exception):
    """ncu's answer is not what it was asked for."""


# ---- which metrics


def base(metric):
    return metric.split(".")[0]


def known_metrics(told):
    """The names in what ncu --query-metrics prints."""
    return {m[0] for m in map(re.compile(r"[a-z0-9]+__\w+").match, told.splitlines()) if m}


def choose(known, refused=()):
    """{field: the metrics that are summed}. Where ncu tells of none of a field's names, the first are asked for all the same: those are
    dropped that it then refuses."""
    chosen = {}
    for field, names in METRICS.items():
        open_ = [[m for m in alternative if base(m) not in refused] for alternative in names]
        told = [[m for m in alternative if base(m) in known] for alternative in open_]
        chosen[field] = next(filter(None, told + open_), [])
        if field in NEEDED and not chosen[field]:
            raise Wrong(f"ncu knows none of {', '.join(itertools.chain(*names))}")
    return chosen


# ---- reading what ncu wrote


def number(text):
    """None for 'n/a' and the like."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def launches_of(log):
    """[{column: text}] of ncu --csv --page raw, in the order of the launches, and {column: unit}."""
    lines = log.splitlines()
    begin = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if begin is None:
        raise Wrong("ncu wrote no table:\n" + "\n".join(lines[-15:]))
    rows = list(csv.DictReader(line for line in lines[begin:] if line.startswith('"')))
    units = {}
    if rows and not rows[0]["ID"]:
        units = rows.pop(0)
    ids = [int(r["ID"]) for r in rows]
    if not ids:
        raise Wrong("ncu profiled no launch")
    if ids != sorted(ids):
        raise Wrong("ncu's launches are not in their order")
    return rows, units


def short_name(kernel):
    """'void tcu::kernel<int>(Params)' as 'kernel'."""
    words = re.split(r"[<(]", kernel)[0].split()
    return words[-1].split("::")[-1] if words else kernel


def grid_of(launch):
    extents = re.findall(r"\d+", launch.get("Grid Size") or "")
    return math.prod(map(int, extents)) if extents else None


def by_mark(launches):
    """{mark: the launches between its two}"""
    found, now = {}, None
    for launch in launches:
        if short_name(launch["Kernel Name"]) != MARK:
            if now is None:
                raise Wrong(f"a launch of {launch['Kernel Name']} (ID {launch['ID']}) lies between no two marks")
            found[now].append(launch)
            continue
        expected = len(found) + 1 if now is None else now
        if grid_of(launch) not in (None, expected):
            raise Wrong(f"mark {grid_of(launch)} (ID {launch['ID']}) where {expected} was to come")
        if now is None:
            found[expected], now = [], expected
        else:
            now = None
    if now is not None:
        raise Wrong(f"mark {now} has no end: ncu's table is cut off")
    return found


def total(launch, metrics, units):
    """The sum of a launch's metrics in the record's unit; None if one has no number."""
    values = []
    for metric in metrics:
        if metric not in launch:
            raise Wrong(f"ncu's table has no column {metric}")
        unit = units.get(metric, "ns" if metric.startswith("gpu__time") else "")
        if unit not in UNITS:
            raise Wrong(f"{metric} is in '{unit}', a unit that is not known here")
        value = number(launch[metric])
        values.append(None if value is None else value * UNITS[unit])
    return sum(values) if values and None not in values else None


def counted(row, launches, units, metrics):
    """The record's row of a row of tcu_bench or a peer and its launches."""
    if not launches:
        raise Wrong(f"{row['who']}, {row['kernel']} on {row['case']}: ncu saw no launch between its marks")
    told = [{field: total(launch, names, units) for field, names in metrics.items()} for launch in launches]
    if any(t[field] is None for t in told for field in NEEDED):
        raise Wrong(f"{row['who']}, {row['kernel']} on {row['case']}: ncu has no number for {' or '.join(NEEDED)}")

    def of_all(field, fold=sum):
        values = [t[field] for t in told]
        return None if None in values else fold(values)
    us, share = of_all("ncu_us"), None
    if of_all("dram_share") is not None and us > 0:
        share = round(sum(t["dram_share"] * t["ncu_us"] for t in told) / us, 1)
    read, written = of_all("read"), of_all("written")
    per_element = 32 * of_all("executed") / math.prod(row["shape"])
    kept = {k: row[k] for k in ("family", "case", "shape", "dims", "dtype", "expr", "who", "kernel", "bytes")}
    return kept | {
        "planned": row["who"] == "tcuops" and not row.get("pinned"), "launches": len(launches),
        "kernels": [short_name(launch["Kernel Name"]) for launch in launches],
        "executed": round(of_all("executed")), "issued": of_all("issued"), "tensor": of_all("tensor"),
        "per_element": round(per_element, 3), "per_vector": round(per_element * 16 / report.BYTES[row["dtype"]], 2),
        "read": read, "written": written,
        "moved": round((read + written) / row["bytes"], 3) if read is not None and written is not None else None,
        "ncu_us": round(us, 3), "dram_share": share, "registers": of_all("registers", max)}


def rows_of(log, lines, metrics):
    """(rows of the record, what was left out and why, rows whose results are wrong) of a program's lines and ncu's log of it."""
    launches, units = launches_of(log)
    found = by_mark(launches)
    rows = [l for l in lines if "case" in l]
    marked = {r["mark"]: r for r in rows if r.get("mark")}
    if set(marked) != set(found):
        raise Wrong(f"{len(found)} rows are marked among ncu's launches, {len(marked)} in what the program wrote")
    told = [l["value"] for l in lines if l.get("meta") == "left out"]
    told += [f"{r['case']}, {r['kernel']}: {r.get('note')}" for r in rows if not r.get("mark") and r.get("correct") is not False]
    wrong = [f"{r['case']}, {r['kernel']}: {r.get('note') or 'a wrong result'}" for r in rows if r.get("correct") is False]
    return [counted(r, found[mark], units, metrics) for mark, r in marked.items()], told, wrong


# ---- measuring


def ncu_there():
    """Beside nvcc, if it is not on the PATH."""
    nvcc = shutil.which("nvcc")
    beside = os.path.join(os.path.dirname(os.path.realpath(nvcc)), "ncu") if nvcc else ""
    return shutil.which("ncu") or (beside if os.access(beside, os.X_OK) else None)


def profile(who, ncu, metrics, command, seconds, extra):
    """ncu over a program: its log and the program's lines stay in FOLDER. Returns the bases of the metrics that ncu refused."""
    log, out = os.path.join(FOLDER, who + ".csv"), os.path.join(FOLDER, who + ".jsonl")
    for path in (log, out):
        if os.path.exists(path):
            os.remove(path)
    asked = [m for names in metrics.values() for m in names]
    line = [ncu, "--csv", "--page", "raw", "--print-units", "base", "--clock-control", "none", "--profile-from-start", "off",
            "--metrics", ",".join(asked), "--log-file", log, run.program(command[0])] + command[1:] + ["--once", "--out", out] + extra
    run.say(f"--- {who} under ncu (at most {seconds:.0f} s)")
    start = time.monotonic()
    child = subprocess.Popen(line, cwd=run.ROOT, env=dict(run.environment(), LC_ALL="C"), stdout=sys.stderr, start_new_session=True)
    try:
        child.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)  # the program too, not ncu alone
        child.wait()
        raise Wrong(f"{who}: ncu did not end within {seconds:.0f} s")
    run.say(f"--- {who}: {time.monotonic() - start:.0f} s")
    text = read(log)
    errors = "\n".join(line for line in text.splitlines() if line.startswith("==ERROR=="))
    refused = {base(m) for m in asked if re.search(rf"\b{re.escape(base(m))}\b", errors)}
    if not refused and not any(line.startswith('"ID"') for line in text.splitlines()):
        raise Wrong(f"{who}: ncu ended with status {child.returncode} and wrote no table:\n" + "\n".join(text.splitlines()[-15:]))
    return refused


def read(path):
    try:
        with open(path) as f:
            return f.read()
    except OSError:
        return ""


def profile_all(ncu, extra, seconds, head):
    """Profiles ours, then CUB; head['metrics'] says what each was asked for, head['left_out'] what could not be."""
    start, known, refused = time.monotonic(), known_metrics(run.output_of(ncu, "--query-metrics")), set()
    for who, command, share in (("tcuops", ["tcu_bench", "--device", "cuda"], 0.85), ("cub", ["tcu_peer_cub"], 0.9)):
        if not os.path.exists(run.program(command[0])):
            head["left_out"].append(f"{who}: there is no {command[0]}")
            continue
        while True:
            metrics = choose(known, refused)
            budget = max((seconds - (time.monotonic() - start)) * share, 10)
            again = profile(who, ncu, metrics, command, budget + 90, extra + ["--budget", f"{budget:.0f}"])
            if not again:
                break
            refused |= again
            run.say(f"{who}: ncu does not know {', '.join(sorted(again))}; once more without")
        head["metrics"][who] = metrics
        head["left_out"] += [f"{who}: ncu has no metric for '{field}'" for field, names in metrics.items() if not names]


def record(folder):
    """(the record of a folder that profile_all has filled, what is wrong with it)"""
    head = json.loads(read(os.path.join(folder, "head.json")))
    rows, wrong = [], head.pop("failed")
    for who, metrics in head["metrics"].items():
        lines = [json.loads(line) for line in read(os.path.join(folder, who + ".jsonl")).splitlines()]
        try:
            mine, told, bad = rows_of(read(os.path.join(folder, who + ".csv")), lines, metrics)
        except Wrong as error:
            mine, told, bad = [], [], [f"{who}: {error}"]
        rows, wrong = rows + mine, wrong + bad
        head["left_out"] += told
    head["left_out"] += wrong
    return head | {"rows": rows}, wrong


def table(rows):
    lines = [f"{'case':16}{'dtype':6}{'row':28}{'launches':>9}{'an element':>12}{'16 bytes':>10}{'tensor':>8}{'moved':>7}{'DRAM %':>8}"]
    for r in rows:
        tensor = f"{r['tensor'] / r['executed']:.3f}" if r["tensor"] is not None and r["executed"] else ""
        name = ("* " if r["planned"] else "  ") + (r["kernel"] if r["who"] == "tcuops" else f"{r['who']} {r['kernel']}")
        lines.append(f"{r['case']:16}{r['dtype']:6}{name:28.28}{r['launches']:>9}{r['per_element']:>12.2f}{r['per_vector']:>10.1f}"
                     f"{tensor:>8}{report.number(r['moved'], 2):>7}{report.number(r['dram_share']):>8}")
    return "\n".join(lines + ["*: the planner's choice. tensor: the share of the instructions that tensor cores executed"])


def finish(folder):
    """Writes the record of such a folder and prints it; the exit status."""
    result, wrong = record(folder)
    where, name = os.path.split(result.pop("path"))
    if result["rows"]:
        run.write(result, os.path.join(run.ROOT, where), [name])
        print(table(result["rows"]))
    for text in result["left_out"]:
        print("left out:", text)
    return 1 if wrong or not result["rows"] else 0


def main(args):
    ncu, start = ncu_there(), time.monotonic()
    if args.kernel or args.paper:
        run.say("bench: --instructions is of every row; it takes no --kernel and no --paper")
        return 2
    if not ncu:
        run.say("bench: --instructions needs ncu (Nsight Compute), on the PATH or beside nvcc")
        return 2
    if not args.no_build:
        run.build(["tcu_bench", "tcu_peer_cub"])
    if not os.path.exists(run.program("tcu_bench")):
        run.say("bench: there is no build/release/bench/tcu_bench")
        return 2
    shutil.rmtree(FOLDER, ignore_errors=True)
    os.makedirs(FOLDER)
    groups = args.group or ([] if args.case else GROUPS)
    extra = run.selection(args, groups)
    left = run.compile_all("cuda", args.budget or 115, extra)
    head, where = run.head_of("cuda", {})
    version = re.findall(r"Version (\S+)", run.output_of(ncu, "--version"))
    whole = not (args.case or args.dtype or args.family or args.group)
    name = "instructions" if whole else head["date"].replace(":", "") + "_instructions"
    head |= {"groups": groups, "ncu": version[0] if version else "", "metrics": {}, "left_out": [], "failed": [],
             "path": os.path.relpath(os.path.join(where, name), run.ROOT)}
    try:
        profile_all(ncu, extra, left, head)
    except Wrong as error:
        head["failed"].append(str(error))
    head["seconds"] = round(time.monotonic() - start)
    with open(os.path.join(FOLDER, "head.json"), "w") as f:
        json.dump(head, f)
    return finish(FOLDER)


if __name__ == "__main__":
    sys.exit(finish(sys.argv[1]))
