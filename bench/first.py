"""Time to first result: from a process's start to its first sum of 2^20 float32, and to its first tanh(x .* w .+ b), ours in C and
Julia and the peers'; what our calls of that cost their thread; the library's size; and, where build/release was made by ./run on this
machine, how long that took. Rows of family first_result: 'us' is time, 'bytes' the size. run.py calls rows()."""
import os
import statistics
import subprocess
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# task -> (the first line of a program that does it, what its rows say of the work)
TASKS = {"sum": ("1048576", {"shape": [1 << 20], "dims": [1], "expr": "sum(a)"}),
         "fused": ("0.7616", {"shape": [1024, 1024], "dims": [], "expr": "tanh(a*b+c)"})}

JULIA = ["julia", "--startup-file=no"]
OURS = JULIA + ["--project=.", "-e"]
JULIA_SUM = "using TCUOps; TCUOps.device!(:%s); println(Int(sum(TCUArray(ones(Float32, 2^20)))))"
JULIA_OPERANDS = "x, w, b = fill(0.5f0, 1024, 1024), fill(1.5f0, 1024), fill(0.25f0, 1024); "
JULIA_FUSED = ("using TCUOps; TCUOps.device!(:%s); " + JULIA_OPERANDS + "X, W, B = TCUArray(x), TCUArray(w), TCUArray(b); "
               "println(round(Array((tanh.(X .* W .+ B))[1024:1024, 1024])[1]; digits = 4))")
BASE_FUSED = JULIA_OPERANDS + "println(round((tanh.(x .* w .+ b))[end]; digits = 4))"
NUMPY_LIKE = "; x, w, b = m.full((1024, 1024), 0.5, 'f'), m.full(1024, 1.5, 'f'), m.full(1024, 0.25, 'f')"
LAST = "; print(f'{float(y[-1, -1]):.4f}')"
TORCH_FUSED = ("import torch; full = lambda x, *shape: torch.full(shape, x, device='cuda'); "
               "x, w, b = full(0.5, 1024, 1024), full(1.5, 1024), full(0.25, 1024); "
               "y = %s(lambda x, w, b: torch.tanh(x * w + b))(x, w, b)" + LAST)
CUPY_FUSED = ("import cupy as m" + NUMPY_LIKE +
              "; y = m.ElementwiseKernel('T x, T w, T b', 'T y', 'y = tanh(x * w + b)', 'fused')(x, w, b)" + LAST)
JAX_FUSED = "import jax, jax.numpy as m" + NUMPY_LIKE + "; y = jax.device_get(jax.jit(lambda x, w, b: m.tanh(x * w + b))(x, w, b))" + LAST
NUMPY_FUSED = "import numpy as m" + NUMPY_LIKE + "; y = m.tanh(x * w + b)" + LAST

# device -> (who, case, task, whether it compiles and keeps what it compiled, command); a program of the build is named alone. What is
# kept makes two rows: _cold has an empty folder for it, and _warm is the process after that.
PROGRAMS = {
    "cuda": [("tcuops", "first_sum_c", "sum", False, ["tcu_first", "cuda"]),
             ("tcuops", "first_fused_c", "fused", True, ["tcu_first", "cuda", "fused"]),
             ("tcuops", "fused_parts", "fused", True, ["tcu_first", "cuda", "parts"]),
             ("tcuops", "first_sum_julia", "sum", False, OURS + [JULIA_SUM % "cuda"]),
             ("tcuops", "first_fused_julia", "fused", True, OURS + [JULIA_FUSED % "cuda"]),
             ("torch", "first_sum", "sum", False, ["python3", "-c", "import torch; print(int(torch.ones(2**20, device='cuda').sum()))"]),
             ("cupy", "first_sum", "sum", False, ["python3", "-c", "import cupy; print(int(cupy.ones(2**20, 'f').sum()))"]),
             ("jax", "first_sum", "sum", False, ["python3", "-c", "import jax.numpy as j; print(int(j.ones(2**20).sum()))"]),
             ("torch", "first_fused_eager", "fused", False, ["python3", "-c", TORCH_FUSED % ""]),
             ("cupy", "first_fused", "fused", True, ["python3", "-c", CUPY_FUSED]),
             ("jax", "first_fused", "fused", True, ["python3", "-c", JAX_FUSED]),
             ("torch", "first_fused", "fused", True, ["python3", "-c", TORCH_FUSED % "torch.compile"])],
    "cpu": [("tcuops", "first_sum_c", "sum", False, ["tcu_first", "cpu"]),
            ("tcuops", "first_fused_c", "fused", False, ["tcu_first", "cpu", "fused"]),
            ("tcuops", "first_sum_julia", "sum", False, OURS + [JULIA_SUM % "cpu"]),
            ("tcuops", "first_fused_julia", "fused", False, OURS + [JULIA_FUSED % "cpu"]),
            ("base", "first_sum", "sum", False, JULIA + ["-e", "println(Int(sum(ones(Float32, 2^20))))"]),
            ("base", "first_fused", "fused", False, JULIA + ["-e", BASE_FUSED]),
            ("numpy", "first_sum", "sum", False, ["python3", "-c", "import numpy; print(int(numpy.ones(2**20, 'f').sum()))"]),
            ("numpy", "first_fused", "fused", False, ["python3", "-c", NUMPY_FUSED])],
}
# What `tcu_first cuda parts` measures itself (runner/first.c) -> the case; functions in memory know no folder.
PARTS = {("_cold", "call"): "fused_call_cold", ("_cold", "ready"): "fused_ready_cold", ("_warm", "call"): "fused_call_warm",
         ("_cold", "next"): "fused_next_cold", ("_cold", "next_ready"): "fused_next_ready_cold", ("_warm", "next"): "fused_next_warm",
         ("_warm", "size"): "fused_call_other_size", ("_warm", "again"): "fused_call_again"}


def caches(folder):
    """Compiled code of every program in this folder, and what NVRTC itself leaves to the driver's cache. JAX by itself keeps nothing."""
    return {"TCUOPS_CACHE": folder, "CUDA_CACHE_PATH": folder, "CUPY_CACHE_DIR": folder, "TORCHINDUCTOR_CACHE_DIR": folder,
            "TRITON_CACHE_DIR": folder, "JAX_COMPILATION_CACHE_DIR": folder, "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}


def us_to_result(command, answer, environment):
    """({what: microseconds}, what was wrong) of one process: "" is until the answer can be read; what it timed itself follows it."""
    start = time.monotonic()
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        watch = threading.Timer(120, child.kill)
        watch.start()
        line = child.stdout.readline().strip()
        us = {"": (time.monotonic() - start) * 1e6}
        lines = child.stdout.read().splitlines()
        errors = child.communicate()[1]
        watch.cancel()
    if line != answer or child.returncode:
        return {}, f"printed '{line}', status {child.returncode}: {errors.strip()[-160:]}"
    names = {part for _, part in PARTS}
    return {**us, **{words[0]: float(words[1]) for words in map(str.split, lines) if words and words[0] in names}}, ""


def row(who, case, us=None, task="sum", **more):
    return {"family": "first_result", "case": case, **TASKS[task][1], "dtype": "f32", "who": who,
            "kernel": None, "us": us, "us_min": us, "graph_us": None, "host_us": None, "bytes": None, "joule": None,
            "correct": None, "error": None, "method": "wall", **more}


def rows_of(who, case, task, keeps, command, environment, repeats, is_late):
    """One program's rows; none if no time was left for it."""
    samples, note = {}, ""
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as folder:
            for age in ("_cold", "_warm") if keeps else ("",):
                if note or is_late():
                    break
                us, note = us_to_result(command, TASKS[task][0], {**environment, **(caches(folder) if keeps else {})})
                for part, value in us.items():
                    samples.setdefault((age, part), []).append(value)
    if note:
        return [row(who, case, task=task, correct=False, note=note)]
    named = PARTS if case == "fused_parts" else {(age, ""): case + age for age, _ in samples}
    return [row(who, name, statistics.median(samples[key]), task, us_min=min(samples[key]), correct=True,
                method="host" if key[1] else "wall") for key, name in named.items() if key in samples]


def rows(device, is_there, program, environment, repeats, seconds):
    """Programs for which no time is left get no row. is_there(who, command) and program(name) are run.py's."""
    result, start = [], time.monotonic()
    for who, case, task, keeps, command in PROGRAMS[device]:
        if not is_there(who, command):
            continue
        path = [program(command[0])] + command[1:] if command[0].startswith("tcu_") else command
        result += rows_of(who, case, task, keeps, path, environment, repeats, lambda: time.monotonic() - start > seconds)
    library = environment["TCUOPS_LIBRARY"]
    if os.path.exists(library):
        result.append(row("tcuops", "library_size", bytes=os.path.getsize(library), method="file"))
    log = os.path.join(ROOT, "build", "log", "first_build.txt")
    if os.path.exists(log):  # ./run writes it where there was nothing in build/release
        seconds, cores = open(log).read().split()[:2]
        result.append(row("tcuops", "build", float(seconds) * 1e6, method=f"./run, {cores} cores"))
    return result
