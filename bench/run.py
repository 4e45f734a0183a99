#!/usr/bin/env python3
"""./run bench: ours, the machine's ceiling and every peer that is installed, on the same cases, in one run.

Writes bench/results/<gpu or cpu>/<date>.json, latest.json and latest.md, and prints a table. A row a case and program:
  family, case, shape (dim 1 fastest), dims (1-based), dtype, expr   what was done (cases.json)
  who, kernel        tcuops or the peer; the library's kernel, or how the peer did it
  us, us_min         median and least of the samples; us_spread: their interquartile range over the median
  host_us            what a call costs the calling thread (GPU only)
  bytes              that must move: each input element once, each output once
  ceiling_gbps       the best streaming kernel of this machine at that size and mix; fraction: its time over us
  correct, error     against float64, see bench/runner/check.h; null: not checked
  joule              null: energy is not measured yet
  method             how it was timed (docs/performance.md)
"""
import argparse
import datetime
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import report

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build", "release")
CASES = os.path.join(ROOT, "bench", "cases.json")
# who -> command; a program of the build is named alone.
PEERS = {
    "cpu": {"base": ["julia", "--startup-file=no", "bench/peers/base.jl"],
            "numpy": ["python3", "bench/peers/numpy_runner.py"]},
    "cuda": {"cub": ["tcu_peer_cub"], "torch": ["python3", "bench/peers/torch_runner.py"],
             "jax": ["python3", "bench/peers/jax_runner.py"], "cupy": ["python3", "bench/peers/cupy_runner.py"]},
}
PYTHON_MODULES = {"numpy": "numpy", "torch": "torch", "jax": "jax", "cupy": "cupy"}
# What a run without --group covers.
GROUPS = {("cpu", True): ["cpu"], ("cpu", False): ["cpu"], ("cuda", True): ["h200_first"],
          ("cuda", False): ["h200_first", "targets", "users"]}


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def arguments():
    p = argparse.ArgumentParser(prog="./run bench", description=__doc__.split("\n")[0])
    p.add_argument("--device", choices=["cpu", "cuda"], help="default: cuda where nvidia-smi finds a GPU")
    p.add_argument("--quick", action="store_true", help="fewer cases and samples; under 3 minutes in all")
    p.add_argument("--group", action="append", help="of cases.json: cpu, h200_first, targets, users, huge, papers")
    p.add_argument("--case", action="append", help="only cases whose name contains this; leaves latest.json alone")
    p.add_argument("--dtype", action="append")
    p.add_argument("--family", action="append")
    p.add_argument("--peers", help="comma-separated, or 'none'; default: all that are installed")
    p.add_argument("--kernel", help="pin this kernel of the library; leaves latest.json alone")
    p.add_argument("--budget", type=float, help="seconds for everything (170 if quick, else 540)")
    p.add_argument("--no-build", action="store_true", default=bool(os.environ.get("TCUOPS_NO_BUILD")),
                   help="use the programs in build/release/bench as they are")
    p.add_argument("--compare", nargs=2, metavar=("OLD", "NEW"), help="measure nothing: what moved between two results")
    return p.parse_args()


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


def is_there(who, command):
    if command[0].startswith("tcu_"):
        return os.path.exists(program(command[0]))
    if command[0] != "python3":
        return shutil.which(command[0])
    # find_spec: importing PyTorch takes seconds
    probe = f"import importlib.util as u, sys; sys.exit(u.find_spec('{PYTHON_MODULES[who]}') is None)"
    return subprocess.run(["python3", "-c", probe], capture_output=True).returncode == 0


def run(who, command, seconds, folder, extra):
    """The lines that the program wrote, even if it had to be stopped."""
    if seconds < 3:
        say(f"{who}: left out, the time budget is spent")
        return []
    path = os.path.join(folder, who + ".jsonl")
    if command[0].startswith("tcu_"):
        command = [program(command[0])] + command[1:]
    environment = dict(os.environ, PYTHONUNBUFFERED="1")
    library = os.environ.get("TCUOPS_LIBRARY")
    paths = [os.path.dirname(library) if library else BUILD, environment.get("LD_LIBRARY_PATH", "")]
    environment["LD_LIBRARY_PATH"] = ":".join(p for p in paths if p)
    say(f"--- {who} (at most {seconds:.0f} s)")
    start = time.monotonic()
    child = subprocess.Popen(command + ["--out", path] + extra, cwd=ROOT, env=environment, stdout=sys.stderr)
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
        for text in open(path):
            try:
                lines.append(json.loads(text))
            except ValueError:
                say(f"{who}: a line was cut off")
    return lines


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


def write(result, folder, is_whole):
    folder = os.path.join(ROOT, "bench", "results", folder)
    os.makedirs(folder, exist_ok=True)
    names = [result["date"].replace(":", "")] + (["latest"] if is_whole else [])
    # A row a line: a diff of two results can be read.
    rows = ",\n".join("  " + json.dumps(r) for r in result["rows"])
    points = ",\n".join("  " + json.dumps(p) for p in result["ceilings"])
    head = json.dumps({k: v for k, v in result.items() if k not in ("rows", "ceilings")}, indent=1)[:-2]
    for name in names:
        with open(os.path.join(folder, name + ".json"), "w") as f:
            f.write(f'{head},\n "ceilings": [\n{points}\n ],\n "rows": [\n{rows}\n ]\n}}\n')
    with open(os.path.join(folder, names[-1] + ".md"), "w") as f:
        f.write(report.markdown(result))
    say("wrote " + ", ".join(os.path.relpath(os.path.join(folder, n + ".json"), ROOT) for n in names))


def main():
    args = arguments()
    if args.compare:
        print(report.compare_runs(*args.compare))
        return 0
    start = time.monotonic()
    device = args.device or ("cuda" if output_of("nvidia-smi", "-L") else "cpu")
    budget = args.budget or (170 if args.quick else 540)
    left = lambda: budget - (time.monotonic() - start)
    is_whole = not (args.case or args.dtype or args.family or args.kernel)
    groups = args.group or ([] if args.case else GROUPS[device, args.quick])
    extra = ["--cases", CASES] + (["--quick"] if args.quick else [])
    for name, values in (("group", groups), ("case", args.case), ("dtype", args.dtype), ("family", args.family)):
        for value in values or []:
            extra += ["--" + name, value]
    wanted = {w: c for w, c in PEERS[device].items() if args.peers is None or w in args.peers.split(",")}

    ceiling = "tcu_ceiling_" + device
    if not args.no_build:
        build(["tcu_bench", ceiling] + [c[0] for c in wanted.values() if c[0].startswith("tcu_")])
        start = time.monotonic()  # the budget is for measuring
    if not os.path.exists(program("tcu_bench")):
        say("bench: there is no build/release/bench/tcu_bench, so nothing to measure")
        return 2
    with tempfile.TemporaryDirectory() as folder:
        points = []
        if os.path.exists(program(ceiling)):
            points = run("ceiling", [ceiling], left() / 4, folder, ["--quick"] if args.quick else [])
        ours = ["tcu_bench", "--device", device] + (["--kernel", args.kernel] if args.kernel else [])
        share = left() / (2 if wanted else 1)
        lines = run("tcuops", ours, share, folder, extra + ["--budget", str(max(share - 10, share / 2))])
        peers = [w for w, c in wanted.items() if is_there(w, c)]
        missing = [w for w in wanted if w not in peers]
        if missing:
            say("not installed: " + ", ".join(missing))
        for i, who in enumerate(peers):
            share = left() / (len(peers) - i)
            lines += run(who, wanted[who], share, folder, extra + ["--budget", str(max(share - 15, share / 2))])

    metas = {m["meta"]: m["value"] for m in points + lines if "meta" in m}
    rows = [l for l in lines if "case" in l]
    cases = json.load(open(CASES))["cases"]
    points = [p for p in points if "ceiling" in p]
    report.complete(rows, cases, report.Ceilings(points))
    name, driver, folder = device_of(device, metas)
    result = {"device": name, "driver": driver,
              "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
              "source": output_of("./run", "source-hash"), "quick": args.quick, "groups": groups,
              "peers": {w: metas.get(w, "") for w in peers}, "seconds": round(time.monotonic() - start),
              "left_out": [m["value"] for m in lines if m.get("meta") == "left out"], "ceilings": points, "rows": rows}
    write(result, folder, is_whole)
    print(report.comparison(result, list(peers)))
    for text in result["left_out"]:
        print("left out:", text)
    return 0 if all(r["correct"] for r in rows if r["who"] == "tcuops") and rows else 1


if __name__ == "__main__":
    sys.exit(main())
