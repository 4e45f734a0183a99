#!/usr/bin/env python3
"""./run tune without a device: which problems of a record every row is slow at."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import random
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
loader = importlib.machinery.SourceFileLoader("tune", os.path.join(os.path.dirname(os.path.dirname(HERE)), "bench", "tune"))
tune = importlib.util.module_from_spec(importlib.util.spec_from_loader("tune", loader))
loader.exec_module(tune)


class Slow(unittest.TestCase):
    def test_bytes(self):
        case = {"family": "reduce", "shape": [6, 5, 4], "dims": [1, 3], "dtype": "f16", "inputs": [[6, 5, 4]]}
        self.assertEqual(tune.moved(case), 120 * 2 + 5 * 2)
        self.assertEqual(tune.moved(case | {"out": "i64"}), 120 * 2 + 5 * 8)
        view = {"shape": [6, 5, 4], "strides": [20, 1, 5], "offset": 0}
        self.assertEqual(tune.moved(case | {"family": "scan", "dims": [1], "inputs": [view]}), 120 * 2 * 2)
        self.assertEqual(tune.moved(case | {"family": "broadcast", "dims": [], "inputs": [view, [1, 5, 1]]}), (120 + 5 + 120) * 2)

    def test_the_slowest_come_first(self):
        rng = random.Random(3)
        cases = [tune.random_case(rng, i, 1 << 28) for i in range(60)]
        rows = [{"case": c["case"], "planner": "other", "us": 9e9, "pinned": {"best": tune.moved(c) / 1e3 / (i + 1)}}
                for i, c in enumerate(cases)]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "tune.json")
            with open(path, "w") as f:
                json.dump({"device": "any", "random": 60, "seed": 3, "bytes": 1 << 28, "rows": rows}, f)
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                tune.slow(path)
        *lines, last = out.getvalue().splitlines()
        much = [i + 1 for i, c in enumerate(cases) if tune.moved(c) >= tune.MUCH]
        self.assertEqual([int(line.split()[0]) for line in lines], much[:tune.SHOWN])  # GB/s, by how the times were made
        self.assertTrue(all(" best " in line for line in lines))
        self.assertIn(f"{len(much)} problems", last)


class Again(unittest.TestCase):
    def test_the_shorter_time_of_each_kernel_counts(self):
        def rows(*us):
            return [{"case": "a", "dtype": "f32", "expr": "sum(a)", "shape": [3], "dims": [1], "correct": True, "kernel": kernel, "us": t} |
                    ({"pinned": True} if pinned else {}) for (kernel, pinned), t in zip((("x", False), ("y", True), ("z", True)), us)]

        first = rows(10.0, 9.0, None)
        self.assertGreater(tune.judge(first)["gain"], tune.AGAIN)
        both = tune.judge(tune.sooner(first, rows(8.5, 9.2, 1.0)))
        self.assertEqual((both["us"], both["best"], both["gain"], both["pinned"]), (8.5, "x", 1.0, {"x": 8.5, "y": 9.0}))
        self.assertEqual(tune.judge(tune.sooner(first, []))["us"], 10.0)  # no time was left
        wrong = [r | {"correct": False} for r in rows(1.0, 1.0, 1.0)]
        self.assertEqual(tune.judge(tune.sooner(first, wrong))["us"], 10.0)


if __name__ == "__main__":
    unittest.main()
