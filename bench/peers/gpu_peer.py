"""What PyTorch and CuPy have in common: both allocate flat device memory, view it with strides, and time by events."""
import math

import common


class GpuPeer:
    """A subclass gives: flat(n, dtype) of random elements (and flat(n, dtype, kind) of those kinds of cases.json's data that it names in
    `data`),
    strided(flat, shape, strides, offset), empty(shape, dtype), event() with record(), elapsed_us(event, event),
    synchronize(), busy(us), cache_bytes, ways(case) -> [(label, f(out, inputs))], and replay() if it can."""

    method = "batch"
    dtypes = ()

    def __init__(self, args):
        self.quick = args.quick
        self.pools = {}

    def supports(self, case):
        return None if case.dtype in self.dtypes else f"{self.name} has no {case.dtype} here"

    def prepare(self, case):
        sets = case.sets(self.cache_bytes)
        views = [v if isinstance(v, dict) else {"shape": v} for v in case.entry["inputs"]]
        spans, unit = [], 256 // common.BYTES[case.dtype]
        for v in views:
            strides = v.get("strides") or [math.prod(v["shape"][:i]) for i in range(len(v["shape"]))]
            span = v.get("offset", 0) + 1 + sum((e - 1) * s for e, s in zip(v["shape"], strides))
            spans.append((v["shape"][::-1], strides[::-1], v.get("offset", 0), -(-span // unit) * unit))
        length = sum(s[3] for s in spans)
        which = case.dtype, case.data
        if which not in self.pools or self.pools[which][1] < sets * length:
            self.pools.pop(which, None)
            self.release()
            self.pools[which] = (self.flat(sets * length, case.dtype, *case.data.split()), sets * length)
        flat = self.pools[which][0]
        self.sets = []
        for s in range(sets):
            at, one = s * length, []
            for shape, strides, offset, span in spans:
                one.append(self.strided(flat, shape, strides, at + offset))
                at += span
            self.sets.append(one)
        # Results are rotated like operands; a few outputs in a row, however small, are one allocation each.
        self.outs = [self.empty(case.out_shape[::-1], case.out) for _ in range(min(sets, 64))]
        for label, f in self.ways(case):
            yield label, lambda k, f=f: f(self.outs[k % len(self.outs)], self.sets[k % sets])

    def check_inputs(self):
        return self.sets[0]

    def time(self, run, case):
        """As tcu_bench does it: batches between two events, short work behind a busy device."""
        import time

        def batch(first, n, busy_us):
            self.busy(busy_us)
            start, stop = self.event(), self.event()
            start.record()
            clock = time.perf_counter()
            for k in range(first, first + n):
                run(k)
            host = (time.perf_counter() - clock) * 1e6 / n
            stop.record()
            self.synchronize()
            return self.elapsed_us(start, stop) / n, host

        batch(1, 2, 0)
        us, host = batch(3, 4, 0)
        n = min(max(math.ceil((600 if self.quick else 1200) / us), 1), 500)
        busy = 1.5 * n * host + 50 if us < 100 else 0
        samples = [batch(7 + s * n, n, busy)[0] for s in range(7 if self.quick or us > 2e4 else 15)]
        self.method = "batch behind a busy device" if busy else "batch"
        self.graph_us = self.replay(run, n) if busy else None
        return samples

    def replay(self, run, n):
        """Microseconds a call in a CUDA graph of n of them, or None."""

    def release(self):
        self.sets = self.outs = None
