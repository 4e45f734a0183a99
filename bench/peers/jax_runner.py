"""JAX on the cases, jitted. It has no events: wall time of batches of calls that run ahead of the device, so work under
about 50 us shows what dispatching costs. Views with strides are left out."""
import math
import os
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax
import jax.numpy as jnp
import numpy as np

import common

jax.config.update("jax_enable_x64", True)
DTYPES = {"bool": jnp.bool_, "i8": jnp.int8, "i16": jnp.int16, "i32": jnp.int32, "i64": jnp.int64, "u8": jnp.uint8,
          "f16": jnp.float16, "bf16": jnp.bfloat16, "f32": jnp.float32, "f64": jnp.float64}
FUNCTIONS = {**{n: (lambda f: lambda *a: f(*a[:-1]))(getattr(jnp, n))
                for n in ("add", "subtract", "multiply", "divide", "negative", "tanh", "exp", "log", "sqrt", "abs")},
             "abs2": lambda x, out: x * x}
CACHE_BYTES = 64 << 20


class Jax:
    name, method, version = "jax", "wall", jax.__version__

    def __init__(self, args):
        if jax.default_backend() != "gpu":
            raise SystemExit("jax_runner: JAX sees no GPU")
        self.quick, self.key = args.quick, jax.random.key(1)

    def supports(self, case):
        return None if case.dtype in DTYPES and None not in case.inputs else "JAX has no such dtype, or it is a view"

    def prepare(self, case):
        def operand(shape):
            self.key, key = jax.random.split(self.key)
            if case.dtype[0] in "bf" and case.dtype != "bool":
                return jax.random.uniform(key, shape[::-1], DTYPES[case.dtype], -1, 1)
            least = -100 if case.dtype[0] == "i" else 0
            return jax.random.randint(key, shape[::-1], least, 101).astype(DTYPES[case.dtype])

        sets = min(case.sets(CACHE_BYTES), 64)  # each is an allocation here
        self.inputs = [[operand(s) for s in case.inputs] for _ in range(sets)]
        axes, out = case.axes, DTYPES[case.out]

        def f(*x):
            value = common.evaluate(case.inner, x, FUNCTIONS)
            if not case.fold:
                return value
            if case.is_scan:
                return getattr(jnp, case.fold)(value, axis=axes[0])
            if case.fold.startswith("arg"):
                if len(axes) > 1:
                    value = value.reshape([math.prod(value.shape[a] for a in axes) if a == min(axes) else e
                                           for a, e in enumerate(value.shape) if a not in axes or a == min(axes)])
                shape = case.out_shape[::-1]
                return getattr(jnp, case.fold)(value, axis=min(axes)).reshape(shape)
            return getattr(jnp, case.fold)(value, axis=axes, keepdims=True).astype(out)

        jitted = jax.jit(f)

        def run(k):
            self.last = jitted(*self.inputs[k % sets])
            return self.last

        yield "jit", run

    def check_inputs(self):
        return self.inputs[0]

    def time(self, run, case):
        return common.wall_samples(run, self.quick, 3000, lambda: self.last.block_until_ready())

    def take(self, x, pick):
        # x[pick] would be compiled anew for every index
        bounds = [s.indices(e) for s, e in zip(pick, x.shape)]
        return jax.lax.dynamic_slice(x, [jnp.int64(b[0]) for b in bounds], [b[1] - b[0] for b in bounds])

    def to_numpy(self, x):
        return np.asarray(x)

    def release(self):
        self.inputs = self.last = None


common.main(Jax)
