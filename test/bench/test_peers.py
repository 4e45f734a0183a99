#!/usr/bin/env python3
"""What the Python peers share (bench/peers/common.py): a peer that faults goes on with the next case in a new process."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
try:
    import numpy
except ImportError:
    numpy = None


@unittest.skipIf(numpy is None, "there is no numpy")
class Fault(unittest.TestCase):
    def test_goes_on_in_a_new_process(self):
        names = ["first", "faulty", "second", "faulty", "third"]
        cases = [{"family": "reduce", "case": name, "shape": [64], "dims": [1], "dtype": "f32", "expr": "sum(a)", "inputs": [[64]],
                  "groups": ["g"]} for name in names]
        with tempfile.TemporaryDirectory() as folder:
            given, out = os.path.join(folder, "cases.json"), os.path.join(folder, "out.json")
            with open(given, "w") as f:
                json.dump({"cases": cases}, f)
            command = [sys.executable, os.path.join(HERE, "faulty_peer.py"), "--cases", given, "--out", out, "--budget", "60"]
            done = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(out) as f:
                lines = [json.loads(line) for line in f]
        rows = [line for line in lines if "case" in line]
        self.assertEqual([line["meta"] for line in lines if "meta" in line], ["faulty"])
        self.assertEqual([row["case"] for row in rows], names)
        self.assertEqual([row["us"] for row in rows], [2.0, None, 2.0, None, 2.0])
        self.assertTrue(all("IllegalAddress" in row["note"] for row in rows if row["us"] is None))


if __name__ == "__main__":
    unittest.main()
