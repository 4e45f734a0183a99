"""NumPy on the cases: Fortran-ordered arrays, results written into arrays that are there already (out=)."""
import numpy as np

import common

DTYPES = {"bool": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "u8": np.uint8,
          "f16": np.float16, "f32": np.float32, "f64": np.float64}
CACHE_BYTES = 32 << 20  # as in runner/library.h


class NumPy:
    name, method, version = "numpy", "wall", np.__version__

    def __init__(self, args):
        self.quick = args.quick

    def supports(self, case):
        if case.results > 1 or case.fold == "recurrence":
            return "NumPy has no such call"
        return None if case.dtype in DTYPES and None not in case.inputs else "NumPy has no such dtype, or it is a view"

    def prepare(self, case):
        rng = np.random.default_rng(1)

        def operand(shape):
            # Made transposed and turned round: a Fortran-ordered array of the case's own shape.
            if case.dtype[0] == "f":
                a = rng.random(shape[::-1], dtype=np.float64 if case.dtype == "f64" else np.float32) * 2 - 1
            else:
                a = rng.integers(0 if case.dtype[0] in "ub" else -100, 101, shape[::-1])
            return a.astype(DTYPES[case.dtype], copy=False).T

        sets = case.sets(CACHE_BYTES)
        self.inputs = [[operand(s) for s in case.inputs] for _ in range(sets)]
        outs = [np.empty(case.out_shape[::-1], DTYPES[case.out]).T for _ in range(sets)]
        axes = tuple(d - 1 for d in case.entry["dims"])

        def value(k, out=None):
            return common.evaluate(case.inner, self.inputs[k % sets], common.NUMPY_FUNCTIONS, out)

        def run(k):
            out = outs[k % sets]
            if not case.fold:
                value(k, out)
            elif case.is_scan:
                getattr(np, case.fold)(value(k), axis=axes[0], out=out)
            else:
                common.FOLDS[case.fold](value(k), axis=axes[0] if case.fold.startswith("arg") else axes, out=out, keepdims=True)
            return out.T

        if not case.fold.startswith("arg") or len(axes) == 1:
            yield None, run

    def check_inputs(self):
        return [x.T for x in self.inputs[0]]

    def time(self, run, case):
        return common.wall_samples(run, self.quick, 2000)

    def to_numpy(self, x):
        return x

    def release(self):
        self.inputs = None


common.main(NumPy)
