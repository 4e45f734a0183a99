"""PyTorch on the cases, eager, results written into tensors that are there already, and through torch.compile, which takes
seconds a case: in a quick run only where an expression has several steps."""
import functools
import re
import statistics

import torch

import common
from gpu_peer import GpuPeer

DTYPES = {"bool": torch.bool, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
          "u8": torch.uint8, "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}


def into(f):
    return lambda *a: f(*a[:-1], out=a[-1]) if a[-1] is not None else f(*a[:-1])


FUNCTIONS = {**{n: into(getattr(torch, n))
                for n in ("add", "multiply", "divide", "negative", "tanh", "exp", "log", "sqrt", "abs", "sigmoid")},
             "subtract": into(torch.sub), "abs2": into(torch.square), "relu": lambda x, out: torch.relu(x)}
# f(x, axes, keepdim=, out=)
FOLDS = {"max": torch.amax, "min": torch.amin, "mean": torch.mean, "logsumexp": torch.logsumexp,
         "var": functools.partial(torch.var, correction=1), "std": functools.partial(torch.std, correction=1),
         "norm": lambda x, axes, **how: torch.linalg.vector_norm(x, dim=axes, **how)}
STATISTICS = ("mean", "var", "std", "norm", "logsumexp")


class Torch(GpuPeer):
    name, version, dtypes, data = "torch", torch.__version__, DTYPES, ("normal", "uniform01")

    def __init__(self, args):
        super().__init__(args)
        self.cache_bytes = torch.cuda.get_device_properties(0).L2_cache_size
        self.junk = torch.empty(2, 64 << 20, dtype=torch.float32, device="cuda")

    def flat(self, n, dtype, data=""):
        if DTYPES[dtype].is_floating_point:
            x = torch.empty(n, dtype=DTYPES[dtype], device="cuda")
            return x.normal_() if data == "normal" else x.uniform_(0 if data else -1, 1)
        return torch.randint(-100 if dtype[0] == "i" else 0, 101 if dtype != "bool" else 2, (n,), dtype=DTYPES[dtype],
                             device="cuda")

    def strided(self, flat, shape, strides, offset):
        return torch.as_strided(flat, shape, strides, offset)

    def empty(self, shape, dtype):
        return torch.empty(shape, dtype=DTYPES[dtype], device="cuda")

    def event(self):
        return torch.cuda.Event(enable_timing=True)

    def elapsed_us(self, start, stop):
        return start.elapsed_time(stop) * 1000

    def synchronize(self):
        torch.cuda.synchronize()

    def busy(self, us):
        for _ in range(int(us / 130) + 1 if us > 0 else 0):
            self.junk[0].copy_(self.junk[1])

    def ways(self, case):
        axes, fold = list(case.axes), case.fold
        inner = lambda x: common.evaluate(case.inner, x, FUNCTIONS)
        if not fold:
            eager = lambda out, x: common.evaluate(case.inner, x, FUNCTIONS, out)
        elif case.is_scan:
            if fold not in ("cumsum", "cumprod"):
                return
            eager = lambda out, x: getattr(torch, fold)(inner(x), axes[0], out=out)
        elif fold in FOLDS:
            eager = lambda out, x: FOLDS[fold](inner(x), axes, keepdim=True, out=out)
        elif fold in ("argmax", "argmin"):
            f = getattr(torch, fold)
            if len(axes) == 1:
                eager = lambda out, x: f(inner(x), axes[0], keepdim=True, out=out)
            else:  # torch has one axis only; the folded axes are adjacent in our cases, and so merge for nothing
                first, last = min(axes), max(axes)
                if last - first + 1 != len(axes):
                    return
                shape = case.out_shape[::-1]
                eager = lambda out, x: f(x[0].flatten(first, last), first).reshape(shape)
        elif fold == "sum":
            dtype = DTYPES[case.out]
            eager = lambda out, x: torch.sum(inner(x), axes, keepdim=True, dtype=dtype, out=out)
        else:
            return
        if case.results == 1:  # of several each would be a launch of its own
            yield "eager", eager
        # torch.compile in a way of its own: it may not write into out.
        steps = len(re.findall(r"[a-z0-9]+\(|[-+*/]", case.inner)) + bool(case.fold)
        if steps > 1 or (steps == 1 and not self.quick):
            if fold == "sum":
                compiled = torch.compile(lambda *x: inner(x).sum(axes, keepdim=True), dynamic=False)
            elif fold in STATISTICS:
                compiled = torch.compile(lambda *x: FOLDS[fold](inner(x), axes, keepdim=True), dynamic=False)
            elif not fold:
                compiled = torch.compile(lambda *x: inner(x), dynamic=False)
            else:
                return
            yield "compiled", lambda out, x: compiled(*x)

    def replay(self, run, n):
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph):
                for k in range(n):
                    run(k)
        except RuntimeError:  # it synchronizes, say
            return None
        samples = []
        for _ in range(6):
            start, stop = self.event(), self.event()
            self.busy(130)
            start.record()
            graph.replay()
            stop.record()
            self.synchronize()
            samples.append(self.elapsed_us(start, stop) / n)
        return statistics.median(samples[1:])

    def to_numpy(self, x):
        return x.double().cpu().numpy() if x.dtype != torch.int64 else x.cpu().numpy()

    def release(self):
        super().release()
        torch.compiler.reset()  # it compiles eight versions of one source line, and then no more
        torch.cuda.empty_cache()


common.main(Torch)
