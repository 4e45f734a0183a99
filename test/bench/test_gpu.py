#!/usr/bin/env python3
"""test/gpu with a test_cuda that is a few lines of shell: what passed, what failed, what had no time."""
import importlib.machinery
import importlib.util
import io
import json
import os
import stat
import sys
import tempfile
import time
import unittest
from contextlib import redirect_stdout
from unittest import mock

ROOM = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOM)
loader = importlib.machinery.SourceFileLoader("gpu", os.path.join(ROOM, "gpu"))
gpu = importlib.util.module_from_spec(importlib.util.spec_from_loader("gpu", loader))
loader.exec_module(gpu)

FAKE = """#!/bin/sh
[ -z "$TCUOPS_TEST_GPU" ] && printf 'skipped: why\\n  cuda: good, so far\\ncuda: bad\\ncuda: dies\\ncuda: slow\\n' && exit 77
case "$*" in
  *bad*) echo "test cases: 1 | 1 failed"; exit 1 ;;
  *dies*) kill -9 $$ ;;
  *slow*) sleep 60 & echo $! > "$0.child"; wait ;;
esac
echo "All tests passed (7 assertions in 1 test case)"
"""
FAKE_WARP = """#!/bin/sh
echo "12 passed, 0 failed"
"""


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Gpu(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        os.makedirs(os.path.join(self.root, "build", "log"))
        for name, text in (("test_cuda", FAKE), ("test_tcu", FAKE_WARP)):
            with open(os.path.join(self.root, name), "w") as f:
                f.write(text)
            os.chmod(os.path.join(self.root, name), stat.S_IRWXU)
        for p in (mock.patch.object(gpu.apart, "TEST", os.path.join(self.root, "test_cuda")), mock.patch.object(gpu.apart, "ROOT", self.root)):
            p.start()
            self.addCleanup(p.stop)

    def run_with(self, *arguments):
        text = io.StringIO()
        with mock.patch("sys.argv", ["gpu", *arguments]), redirect_stdout(text):
            status = gpu.main()
        with open(os.path.join(self.root, "build", "log", "gpu_cases.json")) as f:
            return status, json.load(f), text.getvalue().splitlines()[-1]

    def test_all(self):
        status, summary, last = self.run_with("--budget", "8", "--jobs", "6")
        self.assertEqual((status, last), (1, "3 passed, 3 failed, 0 skipped"))
        self.assertEqual(summary["assertions"], 7 + 7 + 12)
        self.assertEqual((summary["failed"], summary["no_time"]), (["cuda: bad", "cuda: dies", "cuda: slow"], []))
        with open(os.path.join(self.root, "test_cuda.child")) as f:
            child = int(f.read())
        for _ in range(50):  # what a case that is stopped has begun is stopped with it
            if not is_running(child):
                break
            time.sleep(0.1)
        self.assertFalse(is_running(child))

    def test_order(self):
        results = os.path.join(self.root, "bench", "results", "a-card")
        os.makedirs(results)
        with open(os.path.join(results, "gpu_tests.json"), "w") as f:
            json.dump({"test_cuda": {"seconds": {"cuda: bad": 3, "cuda: good, so far": 20, "cuda: slow": 7}}}, f)
        longest_first = ["cuda: dies", "cuda: good, so far", "cuda: slow", "cuda: bad"]  # what has no record before all
        self.assertEqual([case for case, _ in gpu.work(15, 2)], [gpu.LARGE, gpu.WARP] + longest_first)
        self.assertEqual([case for case, _ in gpu.work(14, 2)], [gpu.LARGE, gpu.WARP, "cuda: dies", "cuda: bad", "cuda: slow", "cuda: good, so far"])
        self.assertEqual([case for case, _ in gpu.work(14, 2, "o")][-2:], ["cuda: good, so far", "cuda: slow"])  # of these alone there is time for all

    def test_some(self):
        self.assertEqual(self.run_with("--case", "so far")[0], 0)
        self.assertEqual(self.run_with("--budget", "1", "--case", "so far")[1]["no_time"], ["cuda: good, so far"])


if __name__ == "__main__":
    unittest.main()
