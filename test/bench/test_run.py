#!/usr/bin/env python3
"""bench/run.py and papers.py with a fake tcu_bench: which processes there are, and which rows an experiment gets; and what is in
cases.json for it."""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import papers
import run

ARGS = argparse.Namespace(quick=True, case=None, dtype=None, family=None, kernel=None, all_kernels=False, energy=None)
FIG3, FIG5, FIG6, FIG7 = (papers.BY_NAME["navarro_fig" + n] for n in "3567")
SWEPT = [(e, k) for e in (FIG3, FIG5, FIG6) for k in e.kernels]


class Processes(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        os.makedirs(os.path.join(self.folder, "bench"))
        shutil.copy(os.path.join(HERE, "fake_bench.py"), os.path.join(self.folder, "bench", "tcu_bench"))
        os.chmod(os.path.join(self.folder, "bench", "tcu_bench"), 0o755)
        self.log = os.path.join(self.folder, "log")
        for patch in (mock.patch.object(run, "BUILD", self.folder), mock.patch.object(run, "say", lambda *words: None),
                      mock.patch.dict(os.environ, FAKE_LOG=self.log)):
            patch.start()
            self.addCleanup(patch.stop)

    def asked(self):
        with open(self.log) as f:
            return [json.loads(line) for line in f]

    def test_sweeps_share_their_processes(self):
        lines = run.run_swept(ARGS, "cuda", SWEPT, 60, self.folder)
        asked = self.asked()
        self.assertEqual(len(asked), len(papers.CHAIN_BLOCK))
        self.assertEqual(asked[0], [[papers.RECURRENCE, papers.SINGLE_PASS, papers.SPLIT], ["navarro_fig3", "navarro_fig5", "navarro_fig6"],
                                    "reduce.tcu.recurrence=1:32,reduce.tcu.single_pass=1:32,reduce.tcu.split=0"])
        self.assertEqual(asked[-1][:2], [[papers.RECURRENCE, papers.SINGLE_PASS], ["navarro_fig3", "navarro_fig5"]])
        names = ["navarro_fig3", "navarro_fig5", "navarro_fig6"]
        cases = [{"case": n, "dtype": "f16", "expr": "sum(a)", "groups": [n]} for n in names]
        for experiment, kernel in SWEPT:
            rows = run.rows_of(experiment, lines, [k for _, k in SWEPT], cases)
            self.assertEqual([{k: r[k] for k in ("R", "B", "F") if k in r} for r in rows],
                             sorted(experiment.sweep, key=papers.AXES[experiment.x][1]))
            self.assertEqual({r["kernel"] for r in rows}, {kernel})

    def test_a_sweep_is_in_no_other_experiment(self):
        case = {"case": "full", "dtype": "f16", "expr": "sum(a)", "groups": ["navarro_fig3", "navarro_fig7"]}
        row = {"case": "full", "dtype": "f16", "expr": "sum(a)", "family": "reduce", "shape": [8], "who": "tcuops",
               "kernel": papers.RECURRENCE, "pinned": True}
        rows = [row, row | {"R": 1, "B": 32}]
        self.assertEqual(run.rows_of(FIG3, rows, [papers.RECURRENCE], [case]), rows[1:])
        self.assertEqual(run.rows_of(FIG7, rows, [papers.RECURRENCE], [case]), rows[:1])

    def test_rows_with_the_same_cases_are_one_process(self):
        pinned = {"reduce.tcu.split": ["a"], "reduce.tcu.recurrence": ["a"], "scan.lines": ["a"], "reduce.tcu.single_pass": ["a", "b"]}
        lines = run.run_ours(ARGS, "cuda", ["a", "b"], pinned, 60, self.folder)
        self.assertEqual([a[:2] for a in self.asked()], [
            [[], ["a", "b"]], [["reduce.tcu.split", "reduce.tcu.recurrence"], ["a"]], [["scan.lines"], ["a"]],
            [["reduce.tcu.single_pass"], ["a", "b"]]])
        rows = [l for l in lines if "case" in l]
        self.assertEqual([bool(r.get("pinned")) for r in rows], [True] * 5 + [False] * 2)  # the planner's stand last

    def test_a_newer_cub_is_called_by_its_version(self):
        lines = [{"meta": "cub", "value": "3.0"}, {"meta": "cub 3.6", "value": "3.6"}]
        metas = {l["meta"]: l["value"] for l in lines}
        self.assertEqual(run.names_of(["cub", "cccl", "torch"], lines, metas), {"cub": "3.0", "cub 3.6": "3.6", "torch": ""})
        self.assertEqual(run.names_of(["cccl"], [], {}), {})


class Built(unittest.TestCase):
    """./run of a folder with a library, a bench that says what it is told, and a cmake that fails."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        for path, text in (("bench/run", '#!/bin/sh\necho "told $*"\n'), ("build/release/libtcuops.so", ""), ("bin/cmake", "#!/bin/sh\nexit 7\n")):
            path = os.path.join(self.folder, path)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as f:
                f.write(text)
            os.chmod(path, 0o755)
        shutil.copy(os.path.join(ROOT, "run"), self.folder)

    def bench(self, *arguments):
        env = os.environ | {"PATH": os.path.join(self.folder, "bin") + ":" + os.environ["PATH"], "TCUOPS_NO_INSTALL": "1"}
        env.pop("TCUOPS_NO_BUILD", None)
        return subprocess.run([os.path.join(self.folder, "run"), "bench", *arguments], env=env, text=True, capture_output=True)

    def test_with_no_build_it_neither_builds_nor_asks_for_packages(self):
        done = self.bench("--no-build", "--budget", "5")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "told --no-build --budget 5\n", ""))

    def test_else_it_builds_first(self):
        done = self.bench("--budget", "5")
        self.assertNotEqual(done.returncode, 0)
        self.assertNotIn("told", done.stdout)


class Cases(unittest.TestCase):
    def setUp(self):
        with open(run.CASES) as f:
            self.cases = json.load(f)["cases"]

    def test_every_length_of_the_segment_table(self):
        lengths = {1 << k for k in range(4, 27)} | {24, 48, 100, 1000, 1023, 1025}
        for dtype in ("f16", "bf16"):
            mine = [c["shape"] for c in self.cases if "tensor" in c["groups"] and c["family"] == "segmented_reduce" and c["dtype"] == dtype]
            self.assertEqual(sorted(s[0] for s in mine), sorted(lengths))
            self.assertTrue(all(s[1] == (1 << 30) // s[0] for s in mine))

    def test_the_accuracy_experiment(self):
        mine = {(c["dtype"], c["shape"][0], c["data"]) for c in self.cases if "navarro_error" in c["groups"]}
        self.assertEqual(mine, {(d, 1 << k, data) for data in papers.DATA for dtypes, lengths in
                                ((("f16", "bf16"), (20, 24, 28, 30, 31)), (("f8e4m3", "f8e5m2"), (20, 28, 31)))
                                for d in dtypes for k in lengths})

    def test_each_is_there_once(self):
        keys = [(c["case"], c["dtype"], c["expr"]) for c in self.cases]
        self.assertEqual(len(keys), len(set(keys)))


if __name__ == "__main__":
    unittest.main()
