#!/usr/bin/env python3
"""bench/instructions.py against a fake ncu and a fake tcu_bench: what is read, what is counted, and what is refused."""
import argparse
import contextlib
import io
import json
import os
import shutil
import sys
import tempfile
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "bench"))
import instructions
import run

MARK = instructions.MARK
HEAD = {"device": "NVIDIA H200", "driver": "580", "date": "2026-11-23T00:00:00Z", "source": "0" * 64}
ARGS = argparse.Namespace(no_build=True, budget=60, group=None, case=None, dtype=None, family=None, kernel=None, paper=None, quick=False)


def line(kernel, mark=None, **more):
    return {"family": "segmented_reduce", "case": "seg_16", "shape": [16, 64], "dims": [1], "dtype": "f16", "expr": "sum(a)",
            "who": "tcuops", "bytes": 2176, "kernel": kernel, "correct": True} | ({"mark": mark} if mark else {}) | more


def counts(executed, us=2.0, tensor="0", share="50"):
    return {"smsp__inst_executed.sum": executed, "smsp__inst_issued.sum": executed, "gpu__time_duration.sum": f"{1000 * us:,.0f}",
            "sm__inst_executed_pipe_tensor_op_hmma.sum": tensor, "dram__bytes_read.sum": "2,048", "dram__bytes_write.sum": "128",
            "dram__throughput.avg.pct_of_peak_sustained_elapsed": share, "launch__registers_per_thread": "40"}


def marked(mark, *launches):
    return [[MARK + "()", mark, {}], *launches, [MARK + "()", mark, {}]]


ROWS = [line("reduce.small", 1), line("reduce.tcu.segmented", 2, pinned=True),
        line("reduce.general", pinned=True, note="not profiled: a call takes 412 ms"), {"meta": "device", "value": "NVIDIA H200"}]
LAUNCHES = marked(1, ["void tcu::small<__half, 2, 4>(tcu::Params<1>, int)", 264, counts("1,024")]) + marked(
    2, ["void tcu::segmented<float, \"x\">(int)", 132, counts("300", 3.0, "64")], ["combine(int)", 1, counts("20", 1.0, share="10")])


class Instructions(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        for name, source in (("ncu", "fake_ncu.py"), ("bench/tcu_bench", "fake_program.py")):
            path = os.path.join(self.folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            shutil.copy(os.path.join(HERE, source), path)
            os.chmod(path, 0o755)
        self.told = io.StringIO()
        for thing, name, value in ((run, "BUILD", self.folder), (instructions, "FOLDER", os.path.join(self.folder, "raw")),
                                   (run, "head_of", lambda device, metas: (dict(HEAD), os.path.join(self.folder, "results"))),
                                   (run, "say", lambda *words: print(*words, file=self.told))):
            patch = mock.patch.object(thing, name, value)
            patch.start()
            self.addCleanup(patch.stop)

    def measure(self, launches=LAUNCHES, rows=ROWS, unknown=""):
        """(exit status, the record or None)"""
        paths = [os.path.join(self.folder, name) for name in ("launches.json", "rows.jsonl")]
        with open(paths[0], "w") as f:
            json.dump(launches, f)
        with open(paths[1], "w") as f:
            f.writelines(json.dumps(r) + "\n" for r in rows)
        variables = {"PATH": self.folder + os.pathsep + os.environ["PATH"], "FAKE_LAUNCHES": paths[0], "FAKE_ROWS": paths[1],
                     "FAKE_UNKNOWN": unknown}
        with mock.patch.dict(os.environ, variables), contextlib.redirect_stdout(self.told):
            status = instructions.main(ARGS)
        path = os.path.join(self.folder, "results", "instructions.json")
        return status, json.loads(instructions.read(path) or "null")

    def test_counts(self):
        status, record = self.measure()
        self.assertEqual(status, 0, self.told.getvalue())
        small, tensor = record["rows"]
        self.assertEqual({k: record[k] for k in ("ncu", *HEAD)}, {"ncu": "2025.3.1.0", **HEAD})
        self.assertEqual((small["kernel"], small["planned"], small["launches"], small["kernels"]), ("reduce.small", True, 1, ["small"]))
        self.assertEqual((small["executed"], small["per_element"], small["per_vector"]), (1024, 32.0, 256.0))
        self.assertEqual((small["ncu_us"], small["dram_share"], small["registers"], small["moved"]), (2.0, 50.0, 40, 1.0))
        self.assertEqual((tensor["planned"], tensor["kernels"], tensor["tensor"]), (False, ["segmented", "combine"], 64))
        self.assertEqual((tensor["executed"], tensor["per_element"], tensor["ncu_us"]), (320, 10.0, 4.0))
        self.assertEqual(tensor["dram_share"], 40.0)  # 3 us of 50 %, 1 us of 10 %
        self.assertIn("seg_16, reduce.general: not profiled: a call takes 412 ms", record["left_out"])
        self.assertIn("cub: there is no tcu_peer_cub", record["left_out"])
        self.assertIn("* reduce.small", self.told.getvalue())

    def test_reads_its_folder_again(self):
        first = self.measure()[1]
        with contextlib.redirect_stdout(self.told):
            self.assertEqual(instructions.finish(instructions.FOLDER), 0)
        self.assertEqual(json.loads(instructions.read(os.path.join(self.folder, "results", "instructions.json"))), first)

    def test_a_metric_that_ncu_does_not_have(self):
        status, record = self.measure(unknown="dram__throughput dram__bytes_read dram__bytes_op_read")
        self.assertEqual(status, 0, self.told.getvalue())
        self.assertEqual([(r["dram_share"], r["read"], r["moved"], r["written"]) for r in record["rows"][:1]], [(None, None, None, 128)])
        self.assertIn("tcuops: ncu has no metric for 'dram_share'", record["left_out"])

    def test_a_metric_that_is_needed(self):
        status, record = self.measure(unknown="smsp__inst_executed")
        self.assertEqual((status, record), (1, None))
        self.assertIn("ncu knows none of smsp__inst_executed.sum", self.told.getvalue())

    def test_what_does_not_fit(self):
        for launches, why in (([], "wrote no table"), (LAUNCHES[:-1], "mark 2 has no end"), (LAUNCHES[3:], "mark 2 "),
                              (LAUNCHES[:3], "1 rows are marked among ncu's launches, 2 in what the program wrote"),
                              (LAUNCHES + [["other(int)", 1, counts("1")]], "lies between no two marks"),
                              (marked(1) + LAUNCHES[3:], "ncu saw no launch between its marks"),
                              (marked(1, ["small(int)", 1, counts("n/a")]) + LAUNCHES[3:], "ncu has no number for executed or ncu_us")):
            with self.subTest(why):
                status, record = self.measure(launches)
                self.assertEqual((status, record), (1, None))
                self.assertIn(why, self.told.getvalue())

    def test_a_wrong_result_is_no_row(self):
        rows = [ROWS[0], line("reduce.tcu.segmented", pinned=True, correct=False, error=0.5)]
        status, record = self.measure(LAUNCHES[:3], rows)
        self.assertEqual((status, len(record["rows"])), (1, 1))
        self.assertIn("seg_16, reduce.tcu.segmented: a wrong result", record["left_out"])


if __name__ == "__main__":
    unittest.main()
