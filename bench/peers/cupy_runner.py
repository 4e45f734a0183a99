"""CuPy on the cases: results written into arrays that are there already; expressions also as one cupy.fuse kernel."""
import cupy
import cupyx.scipy.special
import numpy as np

import common
from gpu_peer import GpuPeer

DTYPES = {"bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8,
          "f16": np.float16, "f32": np.float32, "f64": np.float64}


def into(f):
    return lambda *a: f(*a[:-1], out=a[-1])


FUNCTIONS = {**{n: into(getattr(cupy, n)) for n in ("add", "subtract", "multiply", "divide", "negative", "tanh", "exp",
                                                    "log", "sqrt", "abs")},
             "abs2": lambda x, out: cupy.multiply(x, x, out=out)}
FUSED = {n: (lambda f: lambda *a: f(*a[:-1]))(getattr(cupy, n))
         for n in ("add", "subtract", "multiply", "divide", "negative", "tanh", "exp", "log", "sqrt", "abs")}
FUSED["abs2"] = lambda x, out: x * x
# f(x, axis, out)
FOLDS = {**{n: (lambda f: lambda x, axis, out: f(x, axis=axis, keepdims=True, out=out))(getattr(cupy, n))
            for n in ("sum", "prod", "max", "min", "mean")},
         "var": lambda x, axis, out: cupy.var(x, axis=axis, ddof=1, keepdims=True, out=out),
         "std": lambda x, axis, out: cupy.std(x, axis=axis, ddof=1, keepdims=True, out=out),
         "norm": lambda x, axis, out: cupy.sqrt(cupy.sum(cupy.square(x, dtype=common.wide(x.dtype)), axis=axis, keepdims=True)),
         "logsumexp": lambda x, axis, out: cupyx.scipy.special.logsumexp(x, axis=axis, keepdims=True)}


class CuPy(GpuPeer):
    name, version, dtypes = "cupy", cupy.__version__, DTYPES

    def __init__(self, args):
        super().__init__(args)
        self.cache_bytes = cupy.cuda.Device().attributes["L2CacheSize"]
        self.junk = cupy.empty((2, 64 << 20), dtype=np.float32)

    def flat(self, n, dtype):
        if dtype[0] != "f":
            return cupy.random.randint(-100 if dtype[0] == "i" else 0, 101, n).astype(DTYPES[dtype])
        x = cupy.empty(n, dtype=DTYPES[dtype])
        step = 1 << 26  # in pieces: the generator makes float32 or float64, and intermediates as large
        for i in range(0, n, step):
            m = min(step, n - i)
            x[i:i + m] = cupy.random.random(m, dtype=np.float64 if dtype == "f64" else np.float32) * 2 - 1
        return x

    def strided(self, flat, shape, strides, offset):
        return cupy.lib.stride_tricks.as_strided(flat[offset:], shape, [s * flat.itemsize for s in strides])

    def empty(self, shape, dtype):
        return cupy.empty(shape, dtype=DTYPES[dtype])

    def event(self):
        return cupy.cuda.Event()

    def elapsed_us(self, start, stop):
        return cupy.cuda.get_elapsed_time(start, stop) * 1000

    def synchronize(self):
        cupy.cuda.Device().synchronize()

    def busy(self, us):
        for _ in range(int(us / 130) + 1 if us > 0 else 0):
            self.junk[0].data.copy_from_device_async(self.junk[1].data, self.junk[0].nbytes, cupy.cuda.Stream.null)

    def ways(self, case):
        axes, fold = case.axes, case.fold
        inner = lambda x: common.evaluate(case.inner, x, FUNCTIONS)
        if not fold:
            yield "eager", lambda out, x: common.evaluate(case.inner, x, FUNCTIONS, out)
            if "(" in case.inner or sum(case.inner.count(c) for c in "+-*/") > 1:
                names = [chr(ord("a") + i) for i in range(len(case.inputs))]
                scope = {"run": lambda *x: common.evaluate(case.inner, x, FUSED)}
                one = eval(f"lambda {', '.join(names)}: run({', '.join(names)})", scope)
                fused = cupy.fuse(kernel_name="bench_fused")(one)
                yield "fused", lambda out, x: fused(*x)
        elif case.is_scan:
            f = {"cumsum": cupy.cumsum, "cumprod": cupy.cumprod}.get(fold)
            if f:
                yield "eager", lambda out, x: f(inner(x), axis=axes[0], out=out)
        elif fold in ("argmax", "argmin"):
            if len(axes) == 1:
                shape = case.out_shape[::-1]
                yield "eager", lambda out, x: getattr(cupy, fold)(inner(x), axis=axes[0]).reshape(shape)
        elif fold in FOLDS:
            yield "eager", lambda out, x: FOLDS[fold](inner(x), axes, out)

    def to_numpy(self, x):
        return cupy.asnumpy(x)

    def release(self):
        super().release()
        cupy.get_default_memory_pool().free_all_blocks()


common.main(CuPy)
