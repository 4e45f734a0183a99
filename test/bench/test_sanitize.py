#!/usr/bin/env python3
"""./run sanitize with a compute-sanitizer that is a few lines of shell: what is a failure, and how runs add up in one record."""
import importlib.machinery
import importlib.util
import json
import os
import stat
import tempfile
import unittest
from unittest import mock

HERE = os.path.dirname(os.path.abspath(__file__))
loader = importlib.machinery.SourceFileLoader("sanitize", os.path.join(os.path.dirname(HERE), "sanitize"))
sanitize = importlib.util.module_from_spec(importlib.util.spec_from_loader("sanitize", loader))
loader.exec_module(sanitize)

FAKE = """#!/bin/sh
[ "$1" = --version ] && echo 1 && exit
case "$*" in *unclean*) errors=3 ;; *) errors=0 ;; esac
echo "========= ERROR SUMMARY: $errors errors"
case "$*" in *wrong*) ;; *) echo "All tests passed (7 assertions in 1 test case)" ;; esac
"""
GOOD = {"errors": 0, "assertions": 7}


class Sanitize(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        fake = os.path.join(self.folder.name, "compute-sanitizer")
        with open(fake, "w") as f:
            f.write(FAKE)
        os.chmod(fake, stat.S_IRWXU)
        patches = [mock.patch.dict(os.environ, PATH=self.folder.name + os.pathsep + os.environ["PATH"]),
                   mock.patch.object(sanitize, "ROOT", self.folder.name),
                   mock.patch.object(sanitize.apart, "cases", lambda: ["cuda: good", "cuda: unclean", "cuda: wrong"]),
                   mock.patch.object(sanitize.run, "device_of", lambda *_: ("GPU", "1", "gpu")),
                   mock.patch.object(sanitize.run, "output_of", lambda *a: self.source if "source-hash" in a else "1"),
                   mock.patch("builtins.print")]
        for p in patches:
            p.start()
            self.addCleanup(p.stop)
        self.source = "a"

    def run_with(self, *arguments):
        with mock.patch("sys.argv", ["sanitize", *arguments]):
            status = sanitize.main()
        with open(os.path.join(self.folder.name, "bench", "results", "gpu", "sanitizers.json")) as f:
            return status, json.load(f)["tools"]

    def test_a_failure_is_an_error_found_or_a_test_that_did_not_pass(self):
        status, tools = self.run_with("--tool", "memcheck")
        self.assertEqual(status, 1)
        self.assertEqual(sorted(tools["memcheck"]["failed"]), ["cuda: unclean", "cuda: wrong"])
        self.assertEqual(tools["memcheck"]["errors"], 3)
        self.assertEqual(tools["memcheck"]["cases"]["cuda: good"], GOOD)

    def test_runs_on_one_source_add_up(self):
        self.run_with("--tool", "memcheck", "--case", "unclean")
        self.run_with("--tool", "initcheck", "--case", "good")
        status, tools = self.run_with("--tool", "memcheck", "--case", "good")
        self.assertEqual(status, 0)  # of this run
        self.assertEqual(sorted(tools["memcheck"]["cases"]), ["cuda: good", "cuda: unclean"])
        self.assertEqual((tools["memcheck"]["failed"], tools["memcheck"]["left_out"]), (["cuda: unclean"], ["cuda: wrong"]))
        self.assertEqual(tools["initcheck"]["cases"], {"cuda: good": GOOD})

    def test_another_source_or_scale_begins_anew(self):
        self.run_with("--tool", "memcheck", "--case", "good")
        self.assertEqual(list(self.run_with("--tool", "initcheck", "--scale", "1", "--case", "good")[1]), ["initcheck"])
        self.source = "b"
        self.assertEqual(list(self.run_with("--tool", "memcheck", "--scale", "1", "--case", "good")[1]), ["memcheck"])


if __name__ == "__main__":
    unittest.main()
