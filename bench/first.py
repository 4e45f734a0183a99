"""Time to first result: from a process's start to its first sum of 2^20 float32, ours in C and Julia and the peers'; the
library's size; and, where build/release was made by ./run on this machine, how long that took. Rows of family first_result:
'us' is time, 'bytes' the size. run.py calls rows()."""
import os
import statistics
import subprocess
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHAPE = 1 << 20
JULIA = ["julia", "--startup-file=no"]
OURS = "using TCUOps; TCUOps.device!(:%s); println(Int(sum(TCUArray(ones(Float32, 2^20)))))"
# device -> (who, case, command); a program of the build is named alone.
PROGRAMS = {
    "cuda": [("tcuops", "first_sum_c", ["tcu_first", "cuda"]),
             ("tcuops", "first_sum_julia", JULIA + ["--project=.", "-e", OURS % "cuda"]),
             ("torch", "first_sum", ["python3", "-c", "import torch; print(int(torch.ones(2**20, device='cuda').sum()))"]),
             ("cupy", "first_sum", ["python3", "-c", "import cupy; print(int(cupy.ones(2**20, 'f').sum()))"]),
             ("jax", "first_sum", ["python3", "-c", "import jax.numpy as j; print(int(j.ones(2**20).sum()))"])],
    "cpu": [("tcuops", "first_sum_c", ["tcu_first", "cpu"]),
            ("tcuops", "first_sum_julia", JULIA + ["--project=.", "-e", OURS % "cpu"]),
            ("base", "first_sum", JULIA + ["-e", "println(Int(sum(ones(Float32, 2^20))))"]),
            ("numpy", "first_sum", ["python3", "-c", "import numpy; print(int(numpy.ones(2**20, 'f').sum()))"])],
}


def seconds_to_result(command, environment):
    """(seconds, what was wrong) of one process: until the line with the sum can be read."""
    start = time.monotonic()
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        watch = threading.Timer(120, child.kill)
        watch.start()
        line = child.stdout.readline().strip()
        seconds = time.monotonic() - start
        errors = child.communicate()[1]
        watch.cancel()
    if line != str(SHAPE) or child.returncode:
        return None, f"printed '{line}', status {child.returncode}: {errors.strip()[-160:]}"
    return seconds, ""


def row(who, case, us=None, **more):
    return {"family": "first_result", "case": case, "shape": [SHAPE], "dims": [1], "dtype": "f32", "expr": "sum(a)", "who": who,
            "kernel": None, "us": us, "us_min": us, "graph_us": None, "host_us": None, "bytes": None, "joule": None,
            "correct": None, "error": None, "method": "wall", **more}


def rows(device, is_there, program, environment, repeats, seconds):
    """Programs for which no time is left get no row. is_there(who, command) and program(name) are run.py's."""
    result, start = [], time.monotonic()
    for who, case, command in PROGRAMS[device]:
        if not is_there(who, command):
            continue
        path = [program(command[0])] + command[1:] if command[0].startswith("tcu_") else command
        times, note = [], ""
        while len(times) < repeats and not note and time.monotonic() - start < seconds:
            taken, note = seconds_to_result(path, environment)
            times += [taken * 1e6] if taken else []
        if times or note:
            result.append(row(who, case, statistics.median(times) if times else None, us_min=min(times, default=None),
                              correct=bool(times) and not note, **({"note": note} if note else {})))
    library = environment["TCUOPS_LIBRARY"]
    if os.path.exists(library):
        result.append(row("tcuops", "library_size", bytes=os.path.getsize(library), method="file"))
    log = os.path.join(ROOT, "build", "log", "first_build.txt")
    if os.path.exists(log):  # ./run writes it where there was nothing in build/release
        seconds, cores = open(log).read().split()[:2]
        result.append(row("tcuops", "build", float(seconds) * 1e6, method=f"./run, {cores} cores"))
    return result
