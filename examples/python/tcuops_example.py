"""libtcuops from Python with ctypes and NumPy: no build step, no copy on the CPU backend.

Finds the library by the environment variable TCUOPS_LIBRARY, or in build/release of this checkout, or where the system's
loader looks. Row-major arrays are passed by their strides, so that axis numbers below are NumPy's.
"""
import ctypes as ct
import os
import pathlib
import re

import numpy as np

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]


def open_library():
    named = os.environ.get("TCUOPS_LIBRARY")
    built = CHECKOUT / "build" / "release" / "libtcuops.so"
    return ct.CDLL(named or (str(built) if built.exists() else "libtcuops.so.0"))


class Tensor(ct.Structure):
    _fields_ = [
        ("data", ct.c_void_p),
        ("extents", ct.POINTER(ct.c_int64)),
        ("strides", ct.POINTER(ct.c_int64)),
        ("dtype", ct.c_int32),
        ("rank", ct.c_int32),
    ]


class Scalar(ct.Union):
    _fields_ = [("i", ct.c_int64), ("u", ct.c_uint64), ("f", ct.c_double), ("c", ct.c_double * 2)]


class Node(ct.Structure):
    _fields_ = [
        ("kind", ct.c_int32),
        ("index", ct.c_int32),
        ("dtype", ct.c_int32),
        ("reserved", ct.c_int32),
        ("value", Scalar),
    ]


lib = open_library()
lib.tcu_last_error.restype = ct.c_char_p
lib.tcu_context_backend.restype = ct.c_char_p
lib.tcu_context_backend.argtypes = [ct.c_void_p]
lib.tcu_context_create.argtypes = [ct.POINTER(ct.c_void_p), ct.c_char_p, ct.c_int32]
lib.tcu_context_destroy.argtypes = [ct.c_void_p]
lib.tcu_dtype_by_name.argtypes = [ct.c_char_p]
lib.tcu_op_by_name.argtypes = [ct.c_char_p]
lib.tcu_reduce_op_by_name.argtypes = [ct.c_char_p]
lib.tcu_expr_create.argtypes = [ct.POINTER(ct.c_void_p), ct.POINTER(Node), ct.c_int32]
lib.tcu_expr_destroy.argtypes = [ct.c_void_p]
operation = [ct.c_void_p, ct.c_int32, ct.POINTER(Tensor)]  # expr, n_inputs, inputs
lib.tcu_map.argtypes = [ct.c_void_p, ct.POINTER(Tensor), *operation, ct.c_void_p]
lib.tcu_reduce.argtypes = [
    ct.c_void_p, ct.POINTER(Tensor), ct.c_int32, *operation, ct.c_int32, ct.POINTER(ct.c_int32), ct.c_void_p]
lib.tcu_scan.argtypes = [ct.c_void_p, ct.POINTER(Tensor), ct.c_int32, *operation, ct.c_int32, ct.c_void_p]


def check(status):
    if status != 0:
        raise RuntimeError(lib.tcu_last_error().decode())


def tensor(array):
    """A view of a NumPy array of any strides; the array must outlive the call that it is passed to."""
    rank = array.ndim
    extents = (ct.c_int64 * rank)(*array.shape)
    strides = (ct.c_int64 * rank)(*(s // array.itemsize for s in array.strides))
    dtype = lib.tcu_dtype_by_name(array.dtype.name.encode())
    return Tensor(array.ctypes.data, extents, strides, dtype, rank)


def tensors(arrays):
    """Aligned at the last axis, as NumPy broadcasts: missing leading axes get extent 1."""
    rank = max(a.ndim for a in arrays)
    return (Tensor * len(arrays))(*(tensor(a.reshape((1,) * (rank - a.ndim) + a.shape)) for a in arrays))


def expression(*words):
    """Postfix: integers are inputs, strings are ops."""
    nodes = (Node * len(words))()
    for node, word in zip(nodes, words):
        node.kind, node.index = (1, word) if isinstance(word, int) else (4, lib.tcu_op_by_name(word.encode()))
    expr = ct.c_void_p()
    check(lib.tcu_expr_create(ct.byref(expr), nodes, len(words)))
    return expr


class Context:
    def __init__(self, backend="cpu", device=0):
        self.handle = ct.c_void_p()
        check(lib.tcu_context_create(ct.byref(self.handle), backend.encode(), device))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        check(lib.tcu_context_destroy(self.handle))

    def map(self, expr, *inputs, dtype=None):
        out = np.empty(np.broadcast_shapes(*(a.shape for a in inputs)), dtype or np.result_type(*inputs))
        check(lib.tcu_map(self.handle, ct.byref(tensor(out)), expr, len(inputs), tensors(inputs), None))
        return out

    def reduce(self, op, x, axes, expr=None, dtype=None):
        """Keeps the reduced axes with extent 1."""
        out = np.empty([1 if i in axes else n for i, n in enumerate(x.shape)], dtype or x.dtype)
        check(lib.tcu_reduce(self.handle, ct.byref(tensor(out)), lib.tcu_reduce_op_by_name(op.encode()), expr, 1,
                             tensors([x]), len(axes), (ct.c_int32 * len(axes))(*axes), None))
        return out

    def scan(self, op, x, axis):
        out = np.empty_like(x)
        check(lib.tcu_scan(self.handle, ct.byref(tensor(out)), lib.tcu_reduce_op_by_name(op.encode()), None, 1,
                           tensors([x]), axis, None))
        return out


def main():
    version = lib.tcu_version()
    print(f"libtcuops {version // 10000}.{version // 100 % 100}.{version % 100}")
    header = (CHECKOUT / "capi" / "tcuops.h").read_text()
    assert re.search(r"TCU_FLOAT32\s*= (\d+)", header).group(1) == str(lib.tcu_dtype_by_name(b"float32"))

    rng = np.random.default_rng(1)
    x = rng.standard_normal((64, 33, 7)).astype(np.float32)
    w = rng.standard_normal((33, 1)).astype(np.float32)
    b = rng.standard_normal(7).astype(np.float32)
    with Context("cpu") as context:
        fused = expression(0, 1, "mul", 2, "add", "tanh")
        np.testing.assert_allclose(context.map(fused, x, w, b), np.tanh(x * w + b), rtol=1e-5, atol=1e-6)
        print("tanh(x * w + b): one pass, equal to NumPy's")
        check(lib.tcu_expr_destroy(fused))

        squares = expression(0, "abs2")
        np.testing.assert_allclose(context.reduce("sum", x, (0, 2), squares), (x * x).sum((0, 2), keepdims=True), rtol=1e-5)
        print("sum of squares over axes (0, 2): no temporary, equal to NumPy's")
        check(lib.tcu_expr_destroy(squares))

        np.testing.assert_array_equal(context.reduce("argmax", x, (1,), dtype=np.int64)[:, 0, :], x.argmax(1))
        reversed_view = x[::-1, ::2]
        np.testing.assert_allclose(context.scan("sum", reversed_view, 0), reversed_view.cumsum(0), rtol=1e-4, atol=1e-4)
        print("argmax along axis 1 and cumsum of a reversed, strided view: equal to NumPy's")

        bad = (ct.c_int32 * 1)(9)
        status = lib.tcu_reduce(context.handle, ct.byref(tensor(b)), 1, None, 1, tensors([b]), 1, bad, None)
        assert status != 0
        print(f"a wrong dim is an error: {lib.tcu_last_error().decode()}")


if __name__ == "__main__":
    main()
