#!/usr/bin/env python3
"""./run bench: ours, the machine's ceiling and every peer that is installed, on the same cases, in one run.

Writes bench/results/<gpu or cpu>/<date>.json, latest.json, latest.md and plots/, and prints a table; --paper NAME
writes paper_<name>.json and its plot instead (papers.py), --instructions instructions.json (instructions.py). A row a case and program:
  family, case, shape (dim 1 fastest), dims (1-based), dtype, expr   what was done (cases.json)
  who, kernel        tcuops or the peer; the library's kernel, or how the peer did it
  us, us_min         median and least of the samples; us_spread: their interquartile range over the median
  graph_us           short work as a CUDA graph of a batch, where the program can be recorded: microseconds a call
  graph_cached_us    the same on one set of operands, which the L2 cache then holds (ours, CUB, cuBLAS; work under 25 us)
  host_us            what a call costs the calling thread (GPU only)
  bytes              that must move: each input element once, each output once
  ceiling_gbps       the best streaming kernel of this machine at that size and mix; fraction: its time over us
  correct, error     against float64, see bench/runner/check.h; null: not checked
  error_over_magnitudes  |out - ref| over the sum of magnitudes, the worst of the outputs looked at; sums and means only
  joule              for 10^9 elements, cases of group energy, or with --energy all of all; what the idle device takes (idle_watts)
                     is not counted. With --all-kernels, if 'all': the planner's row's, and the fastest's on tensor and on ordinary cores
  method             how it was timed (docs/performance.md)
  pinned             true: the row of the library was named, not chosen by the planner
  R, B, F            of a sweep (papers.py): the numbers that TCUOPS_TUNING gave it
"""
import argparse
import datetime
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import first
import papers
import report

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build", "release")
CASES = os.path.join(ROOT, "bench", "cases.json")
# who -> command; a program of the build is named alone.
PEERS = {
    "cpu": {"base": ["julia", "--startup-file=no", "bench/peers/base.jl"],
            "numpy": ["python3", "bench/peers/numpy_runner.py"]},
    "cuda": {"cub": ["tcu_peer_cub"], "cccl": ["tcu_peer_cccl"], "cublas": ["tcu_peer_cublas"],
             "torch": ["python3", "bench/peers/torch_runner.py"], "jax": ["python3", "bench/peers/jax_runner.py"],
             "cupy": ["python3", "bench/peers/cupy_runner.py"]},
}
OPTIONAL = ("tcu_peer_cccl",)  # programs that not every build has: TCUOPS_CCCL in bench/CMakeLists.txt
PYTHON_MODULES = {"numpy": "numpy", "torch": "torch", "jax": "jax", "cupy": "cupy"}
# What a run without --group covers.
GROUPS = {("cpu", True): ["cpu"], ("cpu", False): ["cpu"], ("cuda", True): ["h200_first"],
          ("cuda", False): ["h200_first", "targets", "users", "statistics", "dtypes", "scans"]}


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def arguments():
    p = argparse.ArgumentParser(prog="./run bench", description=__doc__.split("\n")[0])
    p.add_argument("--device", choices=["cpu", "cuda"], help="default: cuda where nvidia-smi finds a GPU")
    p.add_argument("--quick", action="store_true", help="fewer cases and samples; under 3 minutes in all")
    p.add_argument("--group", action="append",
                   help="of cases.json: cpu, h200_first, targets, users, statistics, dtypes, scans, broadcasts, huge, papers")
    p.add_argument("--case", action="append", help="only cases whose name contains this; leaves latest.json alone")
    p.add_argument("--dtype", action="append")
    p.add_argument("--family", action="append")
    p.add_argument("--peers", help="comma-separated, or 'none'; default: all that are installed")
    p.add_argument("--kernel", action="append", help="pin this kernel of the library; leaves latest.json alone")
    p.add_argument("--all-kernels", action="store_true",
                   help="every kernel that takes a case, in turn, in brief; leaves latest.json alone")
    p.add_argument("--energy", choices=["all", "none"], help="of which cases; default: those of group energy")
    p.add_argument("--name", help="the record's, in place of its date; leaves latest.json alone")
    p.add_argument("--paper", help="an experiment of the papers, all that begin so, 'all', or 'list' to see them")
    p.add_argument("--instructions", action="store_true",
                   help="what ncu counts of every row of the library and of CUB, in place of times; under 2 minutes")
    p.add_argument("--budget", type=float, help="seconds for everything (170 if quick, 115 if --instructions, else 540)")
    p.add_argument("--no-build", action="store_true", default=bool(os.environ.get("TCUOPS_NO_BUILD")),
                   help="use the programs in build/release/bench as they are")
    p.add_argument("--compare", nargs=2, metavar=("OLD", "NEW"), help="measure nothing: what moved between two results")
    args = p.parse_args()
    if args.name and (args.paper or args.instructions):
        p.error("--name: the records of --paper and --instructions have theirs")
    return args


def output_of(*command):
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""


def program(name):
    return os.path.join(BUILD, "bench", name)


def install(package):
    as_root = [] if os.geteuid() == 0 else ["sudo", "-n"] if shutil.which("sudo") else None
    if as_root is None or not shutil.which("apt-get"):
        return say(f"Missing, by Debian's name: {package}")
    say(f"Installing {package} ...")
    for command in (["update"], ["install", "-y", "--no-install-recommends", package]):
        subprocess.run(as_root + ["apt-get"] + command, capture_output=True)


def build(names):
    """Builds what can be built here; a carried-in program is used where it cannot."""
    try:
        cache = open(os.path.join(BUILD, "CMakeCache.txt")).read()
    except OSError:
        cache = ""
    here = f"CMAKE_HOME_DIRECTORY:INTERNAL={ROOT}\n" in cache and shutil.which("cmake")
    if here and "TCU_NLOHMANN_JSON_DIR:PATH=/" not in cache:
        install("nlohmann-json3-dev")
        subprocess.run(["cmake", "--preset", "release"], cwd=ROOT, capture_output=True)
    for name in names:
        done = False
        if here:
            say(f"Building {name} ...")
            made = subprocess.run(["cmake", "--build", BUILD, "--target", name], capture_output=True, text=True)
            done = made.returncode == 0
            if not done:
                say("\n".join((made.stdout + made.stderr).splitlines()[-15:]))
        if not done and os.path.exists(program(name)):
            say(f"{name}: used as it is in build/release/bench")
        elif not done:
            say(f"{name}: not there, and not built" + ("" if here else ": build/release is not of this machine"))


def to_build(names):
    """Of those programs the ones that this build knows."""
    try:
        known = open(os.path.join(BUILD, "build.ninja")).read()
    except OSError:
        known = ""
    return [n for n in names if n not in OPTIONAL or f"bench/{n}:" in known]


def is_there(who, command):
    if command[0].startswith("tcu_"):
        return os.path.exists(program(command[0]))
    if command[0] != "python3":
        return shutil.which(command[0])
    # find_spec: importing PyTorch takes seconds
    probe = f"import importlib.util as u, sys; sys.exit(u.find_spec('{PYTHON_MODULES[who]}') is None)"
    return subprocess.run(["python3", "-c", probe], capture_output=True).returncode == 0


def environment():
    """What finds the library."""
    library = os.environ.get("TCUOPS_LIBRARY") or os.path.join(BUILD, "libtcuops.so")
    paths = ":".join(p for p in (os.path.dirname(library), os.environ.get("LD_LIBRARY_PATH")) if p)
    return dict(os.environ, PYTHONUNBUFFERED="1", TCUOPS_LIBRARY=library, LD_LIBRARY_PATH=paths)


def run(who, command, seconds, folder, extra, **variables):
    """The lines that the program wrote, even if it had to be stopped. variables: of its environment."""
    if seconds < 3:
        say(f"{who}: left out, the time budget is spent")
        return []
    path = os.path.join(folder, who + ".jsonl")
    if command[0].startswith("tcu_"):
        command = [program(command[0])] + command[1:]
    say(f"--- {who} (at most {seconds:.0f} s)")
    start = time.monotonic()
    child = subprocess.Popen(command + ["--out", path] + extra, cwd=ROOT, env=dict(environment(), **variables),
                             stdout=sys.stderr)
    try:
        child.wait(timeout=seconds + 15)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        say(f"{who}: stopped, it did not end within its time")
    if child.returncode not in (0, 1):
        say(f"{who}: ended with status {child.returncode}")
    say(f"--- {who}: {time.monotonic() - start:.0f} s")
    lines = []
    if os.path.exists(path):
        with open(path) as f:
            for text in f:
                try:
                    lines.append(json.loads(text))
                except ValueError:
                    say(f"{who}: a line was cut off")
    return lines


def compile_all(device, seconds, extra):
    """Fills the disk cache with what the rows of the cases have compiled, by as many processes as there are cores: one after another
    that takes longer than measuring them. Returns the seconds that are left."""
    n, start = os.cpu_count() or 1, time.monotonic()
    command = [program("tcu_bench"), "--device", device, "--all-kernels", "--budget", str(seconds)] + extra
    for child in [subprocess.Popen(command + ["--plan-only", f"{k}/{n}"], cwd=ROOT, env=environment()) for k in range(n)]:
        child.wait()
    say(f"--- compiled in {time.monotonic() - start:.0f} s")
    return seconds - (time.monotonic() - start)


def device_of(device, metas):
    """(device, driver, folder of its results)"""
    if device == "cpu":
        model = re.search(r"^model name\s*:\s*(.*)$", output_of("cat", "/proc/cpuinfo"), re.M)
        system = os.uname()
        name = f"{model[1] if model else system.machine}, {os.cpu_count()} threads"
        return name, f"{system.sysname} {system.release}", "cpu"
    ask = lambda what: output_of("nvidia-smi", f"--query-gpu={what}", "--format=csv,noheader").split("\n")[0]
    name, driver = ask("name") or metas.get("device", "cuda"), ask("driver_version")
    return name, driver, re.sub(r"[^a-z0-9]+", "-", re.sub(r"^nvidia +", "", name.lower())).strip("-")


def head_of(device, metas):
    """(what every record says first, the folder of the device's results)"""
    name, driver, folder = device_of(device, metas)
    return {"device": name, "driver": driver, "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "source": output_of("./run", "source-hash")}, os.path.join(ROOT, "bench", "results", folder)


def text_of(result):
    """JSON with a row a line: a diff of two results can be read."""
    lists = {k: ",\n".join("  " + json.dumps(x) for x in result[k]) for k in ("ceilings", "rows") if k in result}
    head = json.dumps({k: v for k, v in result.items() if k not in lists}, indent=1)[:-2]
    return head + "".join(f',\n "{k}": [\n{lines}\n ]' for k, lines in lists.items()) + "\n}\n"


def write(result, folder, names):
    """The result under each of the names; as a table too, under the last, if it is of ./run bench's cases and not a paper's."""
    os.makedirs(folder, exist_ok=True)
    for name in names:
        with open(os.path.join(folder, name + ".json"), "w") as f:
            f.write(text_of(result))
    if "ceilings" in result and "paper" not in result:
        with open(os.path.join(folder, names[-1] + ".md"), "w") as f:
            f.write(report.markdown(result))
    say("wrote " + ", ".join(os.path.relpath(os.path.join(folder, n + ".json"), ROOT) for n in names))


def draw(result, folder):
    import plots  # here: matplotlib takes a second, if there is one
    try:
        for line in plots.make(result, os.path.join(folder, "plots")):
            say(line)
    except Exception as error:  # what was measured is worth more than its plot
        say(f"no plots: {type(error).__name__}: {error}")


def selection(args, groups, families=()):
    """The runners' arguments that say which cases."""
    extra = ["--cases", CASES] + (["--quick"] if args.quick else [])
    wanted = {"group": groups, "case": args.case, "dtype": args.dtype, "family": args.family or families}
    return extra + [word for name, values in wanted.items() for value in values or [] for word in ("--" + name, value)]


def kernel_arguments(kernels):
    return [word for kernel in kernels for word in ("--kernel", kernel)]


def energy_of(args):
    """The argument of tcu_bench and of the peers that take it."""
    return ["--energy", args.energy] if args.energy else []


def run_pinned(args, device, kernels, groups, seconds, folder):
    """Rows of the library, in one process, on the cases of their family; what they do not take is said under 'left out'."""
    families = papers.FAMILIES.get(kernels[0].split(".")[0])
    name = kernels[0] + (f" and {len(kernels) - 1} more" if len(kernels) > 1 else "")
    return run(name, ["tcu_bench", "--device", device] + kernel_arguments(kernels) + energy_of(args), seconds, folder,
               selection(args, groups, families) + ["--budget", str(max(seconds - 10, seconds / 2))])


def run_swept(args, device, swept, seconds, folder):
    """The sweeps of experiments, a process for each point, which has the k-th of every sweep's."""
    start, lines = time.monotonic(), []
    for k in range(max(len(e.sweep) for e, _ in swept)):
        now = [(e, kernel, e.sweep[k]) for e, kernel in swept if k < len(e.sweep)]
        kernels, groups = ([*dict.fromkeys(values)] for values in zip(*((kernel, e.name) for e, kernel, _ in now)))
        tuning = ",".join(papers.tuning(kernel, point) for _, kernel, point in now)
        found = run(tuning, ["tcu_bench", "--device", device] + kernel_arguments(kernels), seconds - (time.monotonic() - start), folder,
                    selection(args, groups), TCUOPS_TUNING=tuning)
        points = {kernel: point for _, kernel, point in now}
        lines += [dict(l, **points[l["kernel"]]) for l in found if l.get("kernel") in points]
    return lines


def run_ours(args, device, groups, pinned, seconds, folder, swept=()):
    """The lines of tcu_bench. pinned: {row of the library: groups of cases}, done beside the planner's choice, which
    stands last: a table with one line for ours shows it. swept: (experiment, row of the library)."""
    start = time.monotonic()
    share = seconds * (0.8 if pinned else 1) * (0.3 if swept else 1)
    command = ["tcu_bench", "--device", device] + kernel_arguments(args.kernel or []) + energy_of(args)
    if args.all_kernels:
        share = compile_all(device, share, selection(args, groups))
        command.append("--all-kernels")
    planned = run("tcuops", command, share, folder,
                  selection(args, groups) + ["--budget", str(max(share - 10, share / 2))])
    planned.sort(key=lambda l: not l.get("pinned"))
    lines = run_swept(args, device, swept, (seconds - (time.monotonic() - start)) / 2, folder) if swept else []
    by_cases = {}  # those of the same groups are one process
    for kernel, those in pinned.items():
        by_cases.setdefault((kernel.split(".")[0], *those), []).append(kernel)
    left = len(pinned)
    for (_, *those), kernels in by_cases.items():
        share = (seconds - (time.monotonic() - start)) * len(kernels) / left
        left -= len(kernels)
        lines += run_pinned(args, device, kernels, those, share, folder)
    return lines + planned


def measure(args, device, groups, pinned, swept, wanted, left):
    """(the ceilings, all programs' lines, the peers that are installed)"""
    ceiling = "tcu_ceiling_" + device
    with tempfile.TemporaryDirectory() as folder:
        points = []
        if os.path.exists(program(ceiling)):
            points = run("ceiling", [ceiling], left() / 4, folder, ["--quick"] if args.quick else [])
        lines = run_ours(args, device, groups, pinned, left() / (2 if wanted else 1), folder, swept)
        peers = [w for w, c in wanted.items() if is_there(w, c)]
        missing = [w for w in wanted if w not in peers]
        if missing:
            say("not installed: " + ", ".join(missing))
        for i, who in enumerate(peers):
            share = left() / (len(peers) - i)
            lines += run(who, wanted[who] + (energy_of(args) if wanted[who][0].startswith("tcu_") else []), share, folder,
                         selection(args, groups) + ["--budget", str(max(share - 15, share / 2))])
    return points, lines, peers


def rows_of(experiment, rows, names, cases):
    """An experiment's share of the rows."""
    if papers.is_counted(experiment):
        return papers.counted_rows()
    keys = {report.key(c) for c in cases if experiment.name in c["groups"]}
    pinned, _ = papers.pins(experiment, names or [])
    mine = [r for r in rows if report.key(r) in keys and (not r.get("pinned") or r["kernel"] in pinned and papers.is_of(experiment, r))]
    return sorted(mine, key=lambda r: (r["family"], papers.AXES[experiment.x][1](r) or 0))


def write_papers(experiments, result, names, cases, folder, is_whole):
    """A file, a plot and a table for each."""
    for e in experiments:
        rows = rows_of(e, result["rows"], names, cases)
        if not rows:
            print(f"\n{e.name}: nothing was measured")
            continue
        part = dict(result, paper=e.name, groups=[e.name], missing=papers.missing(e, names, rows), rows=rows)
        write(part, folder, ["paper_" + e.name if is_whole else f"{result['date'].replace(':', '')}_{e.name}"])
        if is_whole:
            draw(part, folder)
        print(f"\n{e.name}: {e.title} ({e.paper}, {e.figure})")
        if not papers.is_counted(e):
            print(report.comparison(part, list(result["peers"])))
        for text in part["missing"]:
            print("missing:", text)


def names_of(peers, lines, metas):
    """{who: version}, by the names that stand in the rows: those of cccl are called after its version."""
    told = [l["meta"] for l in lines if "meta" in l]
    return {who: metas.get(who, "") for w in peers for who in ([m for m in told if m.startswith("cub ")] if w == "cccl" else [w])}


def main():
    args = arguments()
    if args.compare:
        print(report.compare_runs(*args.compare))
        return 0
    if args.instructions:
        import instructions  # here: it needs this module
        return instructions.main(args)
    cases = json.load(open(CASES))["cases"]
    if args.paper == "list":
        print(papers.listing(cases, sorted(glob.glob(os.path.join(ROOT, "bench", "results", "*", "latest.json"))),
                             papers.library_rows("cuda")))
        return 0
    experiments = papers.chosen(args.paper) if args.paper else []
    timed = [e for e in experiments if not papers.is_counted(e)]
    start = time.monotonic()
    device = args.device or ("cuda" if output_of("nvidia-smi", "-L") else "cpu")
    budget = args.budget or (170 if args.quick else 540)
    is_whole = not (args.case or args.dtype or args.family or args.kernel or args.all_kernels or args.name)
    groups = [e.name for e in timed] or args.group or ([] if args.case else GROUPS[device, args.quick])
    wanted = {w: c for w, c in PEERS[device].items() if args.peers is None or w in args.peers.split(",")}

    if len(timed) < len(experiments) and not args.no_build:
        build(["tcu_matmul_counts"])
    points, lines, peers = [], [], []
    if timed or not experiments:
        if not args.no_build:
            build(["tcu_bench", "tcu_first", "tcu_ceiling_" + device] + to_build(c[0] for c in wanted.values() if c[0].startswith("tcu_")))
            start = time.monotonic()  # the budget is for measuring
        if not os.path.exists(program("tcu_bench")):
            say("bench: there is no build/release/bench/tcu_bench, so nothing to measure")
            return 2
        points, lines, peers = measure(args, device, groups, papers.pinned_by([e for e in timed if not e.sweep], device),
                                       [(e, k) for e in timed if e.sweep for k in e.kernels], wanted,
                                       lambda: budget - (time.monotonic() - start))

    metas = {m["meta"]: m["value"] for m in points + lines if "meta" in m}
    rows = [l for l in lines if "case" in l]
    points = [p for p in points if "ceiling" in p]
    if is_whole and not experiments and not args.group:
        say("--- time to the first result")
        rows += first.rows(device, is_there, program, environment(), 1 if args.quick else 3,
                           max(budget - (time.monotonic() - start), 20))
    report.complete(rows, cases, report.Ceilings(points))
    head, folder = head_of(device, metas)
    result = head | {"quick": args.quick, "groups": groups, "peers": names_of(peers, lines, metas),
                     "seconds": round(time.monotonic() - start), "launch_host_us": metas.get("launch_host_us"),
                     "left_out": [m["value"] for m in lines if m.get("meta") == "left out"], "ceilings": points, "rows": rows}
    if experiments:
        write_papers(experiments, result, papers.library_rows(device), cases, folder, is_whole)
    else:
        write(result, folder, [args.name or result["date"].replace(":", "")] + (["latest"] if is_whole else []))
        if is_whole:
            draw(result, folder)
        print(report.comparison(result, list(result["peers"])))
    for text in result["left_out"]:
        print("left out:", text)
    done = bool(rows) or not timed and bool(experiments)
    wrong = [r for r in rows if r["who"] == "tcuops" and not (r["correct"] or (r["family"] == report.FIRST and r["correct"] is None))]
    return 0 if done and not wrong else 1


if __name__ == "__main__":
    sys.exit(main())
