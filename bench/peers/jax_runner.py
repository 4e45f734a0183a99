"""JAX on the cases, jitted. It has no events: wall time of batches of calls that run ahead of the device, so work under
about 50 us shows what dispatching costs. Views with strides are left out. Everything is compiled beforehand, on all cores."""
import concurrent.futures
import functools
import math
import os

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax
import jax.numpy as jnp
import jax.scipy.special
import numpy as np

import common

jax.config.update("jax_enable_x64", True)
DTYPES = {"bool": jnp.bool_, "i8": jnp.int8, "i16": jnp.int16, "i32": jnp.int32, "i64": jnp.int64, "u8": jnp.uint8,
          "f16": jnp.float16, "bf16": jnp.bfloat16, "f32": jnp.float32, "f64": jnp.float64}
FUNCTIONS = {**{n: (lambda f: lambda *a: f(*a[:-1]))(getattr(jnp, n))
                for n in ("add", "subtract", "multiply", "divide", "negative", "tanh", "exp", "log", "sqrt", "abs")},
             "abs2": lambda x, out: x * x}
# f(x, axis=, keepdims=), where jnp's function of that name is not it
FOLDS = {"var": functools.partial(jnp.var, ddof=1), "std": functools.partial(jnp.std, ddof=1),
         "norm": lambda x, **how: jnp.sqrt(jnp.sum(jnp.square(x.astype(common.wide(x.dtype) or x.dtype)), **how)),
         "logsumexp": jax.scipy.special.logsumexp}
CACHE_BYTES = 64 << 20


def maker(shape, dtype):
    """key -> random elements"""
    if dtype in ("f16", "bf16", "f32", "f64"):
        return lambda key: jax.random.uniform(key, shape[::-1], DTYPES[dtype], -1, 1)
    return lambda key: jax.random.randint(key, shape[::-1], -100 if dtype[0] == "i" else 0, 101).astype(DTYPES[dtype])


def function(case):
    """What the case does, on arrays"""
    axes, out = case.axes, DTYPES[case.out]

    def f(*x):
        value = common.evaluate(case.inner, x, FUNCTIONS)
        if not case.fold:
            return value
        if case.fold == "recurrence":
            return jax.lax.associative_scan(lambda l, r: (l[0] * r[0], r[0] * l[1] + r[1]), value, axis=axes[0])[1]
        if case.is_scan:
            return getattr(jnp, case.fold)(value, axis=axes[0])
        if case.fold.startswith("arg"):
            if len(axes) > 1:
                value = value.reshape([math.prod(value.shape[a] for a in axes) if a == min(axes) else e
                                       for a, e in enumerate(value.shape) if a not in axes or a == min(axes)])
            return getattr(jnp, case.fold)(value, axis=min(axes)).reshape(case.out_shape[::-1])
        return (FOLDS.get(case.fold) or getattr(jnp, case.fold))(value, axis=axes, keepdims=True).astype(out)

    return f


class Jax:
    name, method, version = "jax", "wall", jax.__version__

    def __init__(self, args):
        if jax.default_backend() != "gpu" and os.environ.get("TCU_BENCH_ANY_JAX") != "1":
            raise SystemExit("jax_runner: JAX sees no GPU")
        self.quick, self.key = args.quick, jax.random.key(1)

    def supports(self, case):
        return None if case.dtype in DTYPES and None not in case.inputs else "JAX has no such dtype, or it is a view"

    def warm(self, cases):
        def compile_one(case):
            try:
                makers = [jax.jit(f).lower(self.key).compile() for f in map(maker, case.inputs, [case.dtype] * 9)]
                operands = [jax.ShapeDtypeStruct(s[::-1], DTYPES[case.dtype]) for s in case.inputs]
                return case.key(), (makers, jax.jit(function(case)).lower(*operands).compile())
            except Exception as error:
                return case.key(), error

        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            self.compiled = dict(pool.map(compile_one, filter(lambda c: not self.supports(c), cases)))

    def prepare(self, case):
        compiled = self.compiled[case.key()]
        if isinstance(compiled, Exception):
            raise compiled
        makers, f = compiled
        sets = min(case.sets(CACHE_BYTES), 64)  # each is an allocation here
        self.inputs = [[make(key) for make, key in zip(makers, jax.random.split(self.key, len(makers)))] for _ in range(sets)]

        def run(k):
            self.last = f(*self.inputs[k % sets])
            return self.last

        yield "jit", run

    def check_inputs(self):
        return self.inputs[0]

    def time(self, run, case):
        return common.wall_samples(run, self.quick, 3000, lambda: jax.block_until_ready(self.last))

    def take(self, x, pick):
        # x[pick] would be compiled anew for every index
        bounds = [s.indices(e) for s, e in zip(pick, x.shape)]
        return jax.lax.dynamic_slice(x, [jnp.int64(b[0]) for b in bounds], [b[1] - b[0] for b in bounds])

    def to_numpy(self, x):
        return np.asarray(x)

    def release(self):
        self.inputs = self.last = None


common.main(Jax)
