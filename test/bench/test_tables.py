#!/usr/bin/env python3
"""The tables of several records (bench/records.py, tensor.py, claims.py), on records made here and on those of the repository."""
import json
import os
import shutil
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import asked
import claims
import papers
import readme
import records
import tensor

CASE = {"family": "segmented_reduce", "case": "seg_16", "shape": [16, 1 << 26], "dims": [1], "dtype": "f16", "expr": "sum(a)",
        "inputs": [[16, 1 << 26]], "groups": ["instructions"]}
MEMORY = {"family": "reduce", "case": "full", "shape": [1 << 20], "dims": [1], "dtype": "f32", "expr": "sum(a)", "inputs": [[1 << 20]],
          "groups": ["bandwidth"]}
BYTES = (1 << 31) + (1 << 27)


def row(kernel, us, **more):
    return {k: v for k, v in CASE.items() if k not in ("inputs", "groups")} | {
        "who": "tcuops", "kernel": kernel, "us": us, "bytes": BYTES, "correct": True} | more


def count(kernel, per_element, case=CASE, **more):
    return {k: v for k, v in case.items() if k not in ("inputs", "groups")} | {
        "who": "tcuops", "kernel": kernel, "per_element": per_element, "planned": False, "dram_share": 91.4, "read": 4e6, "written": 4.0,
        "moved": 0.95, "ncu_us": 1.0, "per_vector": 9.0} | more


class Tables(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        latest = [row("DeviceSegmentedReduce", 60000.0, who="cub", correct=None, joule=12.0), row("reduce.small", 510.0, joule=0.30)]
        self.write("latest", "2026-01-03", latest, ceilings=[{"bytes": 1 << 31, "written": 0, "us": 500.0}])
        self.write("paper_a", "2026-01-02", [
            row("reduce.tcu.segmented", 500.0, pinned=True, joule=0.20), row("reduce.small", 520.0, joule=0.25),
            row("reduce.tcu.other", 1.0, correct=False), row("reduce.tcu.other", 2.0, factor=2)])
        self.write("tensor", "2026-01-01", [row("reduce.tensor", 400.0)])
        self.write("2026-01-04T000000Z", "2026-01-04", [row("reduce.tcu.segmented", 1.0)])

    def write(self, name, date, rows, **more):
        with open(os.path.join(self.folder, name + ".json"), "w") as f:
            json.dump({"date": date, "rows": rows} | more, f)

    def known(self):
        return records.Records(self.folder)

    def test_of_the_newest_record_that_has_both(self):
        best, ordinary = self.known().best(self.known().of(CASE))
        self.assertEqual((best["file"], best["us"], ordinary["file"], ordinary["us"]), ("paper_a", 500.0, "paper_a", 520.0))

    def test_what_was_not_measured(self):
        known = self.known()
        self.assertEqual(list(tensor.lines(known, [CASE])), [
            ["sums of 16, float16, 2^30 in all", "tensor cores", "`reduce.tcu.segmented`", "500.0", "0.200", tensor.NOT, tensor.NOT,
             "paper_a"],
            ["", "ordinary cores", "`reduce.small` *", "520.0", "0.300", tensor.NOT, tensor.NOT, "paper_a"],
            ["", "CUB", "DeviceSegmentedReduce", "60000.0", "12.000", tensor.NOT, tensor.NOT, "latest"]])
        self.assertIn(tensor.NOT, tensor.bandwidth(known, [MEMORY]))
        self.assertIsNone(claims.fewer_instructions(known))
        self.assertIsNone(claims.gemv(known))
        self.assertIsNone(claims.full_scan(known))

    def test_instructions(self):
        self.write("instructions", "2026-01-05", [
            count("reduce.tcu.segmented", 1.25), count("reduce.small", 3.5, planned=True), count("DeviceSegmentedReduce", 80.0, who="cub"),
            count("reduce.split", 2.0, MEMORY, planned=True)])
        known = self.known()
        self.assertEqual([line[5:7] for line in tensor.lines(known, [CASE])], [["1.25", "91"], ["3.50", "91"], ["80.00", "91"]])
        self.assertIn("| 1048576 over 1, float32 | `reduce.split` | 4000 | 91 | 0.95 | 9.0 |", tensor.bandwidth(known, [MEMORY]))
        self.assertEqual(claims.fewer_instructions(known), ("16: 1.25 an element, ordinary cores 3.50, CUB 80.00", claims.HOLDS))

    def test_claims(self):
        known = self.known()
        text, holds = claims.over_cub("sum(a)", 100)(known)
        self.assertEqual((text, holds), ("120 times DeviceSegmentedReduce at 16, ordinary cores 115 times", claims.HOLDS))
        self.assertEqual(claims.over_cub("sum(a)", 121)(known)[1], claims.NO)
        text, holds = claims.share_of_the_copy("sum(a)", 1 << 24, 0.9)(known)
        self.assertEqual((text[:22], holds), ("1.06 on tensor cores, ", claims.HOLDS))
        # 0.2 / 0.25 of the ordinary row's energy in one record, which has 0.30 beside CUB's 12 in the other
        text, holds = claims.power("sum(a)", 0.074)(known)
        self.assertEqual(text, "16: 2.45 of CUB's power for 0.02 of its energy; 0.80 of the energy of ordinary cores")
        self.assertEqual(holds, claims.NO)

    def test_a_newer_cub_stands_beside_the_toolkits(self):
        self.write("tensor_rows", "2026-01-06", [
            row("DeviceSegmentedReduce of one length", 1000.0, who="cub 3.6", correct=None),
            row("reduce.tcu.segmented", 500.0, pinned=True), row("reduce.small", 510.0),
            row("DeviceSegmentedReduce", 60000.0, who="cub", correct=None)])
        known = self.known()
        self.assertEqual([line[1:4] for line in tensor.lines(known, [CASE])][2:], [
            ["CUB", "DeviceSegmentedReduce", "60000.0"], ["CUB 3.6", "DeviceSegmentedReduce of one length", "1000.0"]])
        text, holds = claims.over_cub("sum(a)", 100)(known)
        self.assertEqual((text, holds), ("120 times DeviceSegmentedReduce at 16, ordinary cores 118 times; CUB 3.6 2 at 16", claims.HOLDS))

    def test_segments(self):
        case = CASE | {"groups": ["tensor"]}
        self.write("tensor_segments", "2026-01-06", [
            row("reduce.small", 510.0, fraction=0.98), row("eager", 1020.0, who="torch"), row("jit", 612.0, who="jax"),
            row("DeviceSegmentedReduce", 51000.0, who="cub"), row("of one length", 1071.0, who="cub 3.6")])
        line = tensor.segments(self.known(), [case]).split("\n")[2]
        self.assertEqual(line, "| 16 | 510.0 | 0.980 | 1.2, jax | 100 | 2.1 |" + f" {tensor.NOT} |" * 5)

    def test_a_sweep(self):
        self.assertIsNone(claims.fastest_chain(papers.RECURRENCE, 5, 32)(self.known()))
        points = [row(papers.RECURRENCE, 3.0 + r + b / 32, pinned=True, R=r, B=b) for r in (1, 5) for b in (32, 64)]
        self.write("paper_fig3", "2026-01-06", points + [row(papers.SPLIT, 9.0, pinned=True, F=25)])
        known = self.known()
        self.assertNotIn(papers.RECURRENCE, [r["kernel"] for r in known.rows])
        text, holds = claims.fastest_chain(papers.RECURRENCE, 5, 32)(known)
        self.assertEqual((text, holds), ("R = 1, B = 32: 5.00 us; the paper's 9.00 us; 5.00 to 10.00 us of 4", claims.NO))
        table = tensor.chains(known)
        self.assertIn(f"| `{papers.RECURRENCE}` | R = 5 | 9.00 | 10.00 | {tensor.NOT} |", table)
        self.assertIn("25 %: 9.00.", table)

    def test_the_three_variants(self):
        self.assertIsNone(claims.slowest_when_split(self.known()))
        times = ((papers.RECURRENCE, 500.0), (papers.SINGLE_PASS, 480.0), (papers.SPLIT, 900.0))
        self.write("paper_fig7", "2026-01-06", [row(k, us, pinned=True) for k, us in times])
        text, holds = claims.slowest_when_split(self.known())
        self.assertEqual(text, "`reduce.tcu.single_pass` 480 us, `reduce.tcu.recurrence` 500 us, `reduce.tcu.split` 900 us; 2^30")
        self.assertEqual(holds, claims.HOLDS)

    def test_labels(self):
        case = CASE | {"dtype": "i8"}
        self.assertEqual(tensor.label(case | {"dims": [2]}), "sums of 67108864, side by side, int8, 2^30 in all")
        self.assertEqual(tensor.label(case | {"expr": "sum(a*b)"}), "rows of 16 times a vector, int8, 2^30 in all")

    def test_verdicts(self):
        self.assertEqual([claims.verdict(v) for v in ([True, True], [True, False], [False])], [claims.HOLDS, claims.PART, claims.NO])

    def test_the_records_of_the_repository(self):
        known = records.Records(os.path.join(ROOT, "bench", "results", "h200"))
        with open(os.path.join(ROOT, "bench", "cases.json")) as f:
            cases = json.load(f)["cases"]
        for table in (tensor.beside(known, cases), tensor.bandwidth(known, cases), tensor.segments(known, cases), claims.table(known)):
            widths = {line.count(" | ") for line in table.split("\n")[2:]}
            self.assertEqual(len(widths), 1, table)
        self.assertEqual(len(list(claims.lines(known))), len(claims.CLAIMS))

    def test_peers_that_had_time_for_nothing_are_none(self):
        spent = "{}: the time budget was spent"
        result = {"peers": {"cub": "3.0", "cub 3.6": "3.6", "jax": "0.11"}, "left_out": [spent.format("cub"), spent.format("jax")],
                  "rows": [row("DeviceReduce", 9.0, who="cub"), row("DeviceReduce", 8.0, who="cub 3.6"), row("", None, who="jax")]}
        self.assertEqual(readme.compared(result), (["cub 3.0", "cub 3.6"], ["cub"], ["jax"]))

    def test_between_marks(self):
        text = "a\n<!-- made by bench/readme.py: x -->\n{}\n<!-- end of it -->\nb\n<!-- end of it -->\n"
        self.assertEqual(readme.put(text.format("old"), ": x", "new\n"), text.format("new"))


class Asked(unittest.TestCase):
    DENSE, VIEW = [8192, 8192], {"shape": [8192, 8192], "strides": [8192, 1]}

    def row(self, family, dtype, bytes_, fraction, **more):
        return {"family": family, "case": "c", "shape": [8192, 8192], "dims": [1], "dtype": dtype, "expr": "sum(a)", "who": "tcuops",
                "kernel": "reduce.split", "us": 10.0, "bytes": bytes_, "fraction": fraction, "correct": True} | more

    def asked(self, family, dtype, bytes_, inputs=DENSE):
        return asked.asked(self.row(family, dtype, bytes_, 1.0), {"inputs": [inputs]})

    def test_what_is_asked(self):
        self.assertEqual([self.asked("reduce", "f32", n << 20) for n in (256, 255, 63, 15)], [0.95, 0.90, 0.85, None])
        self.assertEqual([self.asked("broadcast", "f32", n << 20) for n in (256, 32, 31)], [0.95, 0.90, None])
        self.assertEqual([self.asked("broadcast", "f32", n << 20, self.VIEW) for n in (256, 32, 31)], [0.90, 0.90, None])
        self.assertEqual([self.asked("segmented_scan", d, 1 << 30) for d in ("f16", "bf16", "f32", "i32")], [0.92, 0.92, 0.93, 0.93])
        self.assertIsNone(self.asked("gemv", "f32", 1 << 30))

    def test_which_cases_fall_short(self):
        rows = [self.row("reduce", "f32", 256 << 20, 0.95), self.row("reduce", "f16", 256 << 20, 0.93), self.row("reduce", "f64", 256 << 20, 0.5, pinned=True),
                self.row("reduce", "i8", 256 << 20, 0.2, who="cub"), self.row("reduce", "bf16", 1 << 20, 0.1)]
        cases = [{k: r[k] for k in ("case", "dtype", "expr")} | {"inputs": [self.DENSE]} for r in rows]
        table = asked.table({"rows": rows}, cases).splitlines()
        self.assertEqual(table[2:], ["| `reduce.split` | 1 of 2 | c f16 sum(a) 0.930 (0.95) |"])
        self.assertEqual(asked.counts({"rows": rows}, cases).splitlines()[2:], ["| reductions | 1 of 2 |", "| all | 1 of 2 |"])
        rows[0]["correct"] = False
        self.assertEqual(asked.reached({"rows": rows}, cases), (0, 2))

    def test_peers(self):
        rows = [self.row("reduce", "f32", 1 << 28, 0.9), self.row("reduce", "f32", 1 << 28, 0.9, who="cub", us=20.0),
                self.row("reduce", "f16", 1 << 28, 0.9), self.row("reduce", "f16", 1 << 28, 0.9, who="cub", us=8.0)]
        self.assertEqual(asked.behind({"rows": rows}), "A peer was faster in: cub in c f16 sum(a), by 25.0 %.")
        self.assertEqual(asked.behind({"rows": rows[:2]}), "No peer was faster in any case.")
        newest = asked.newest({"rows": rows, "device": "X", "date": "2026-01-01T00", "source": "0123456789"}, "x")
        self.assertIn("2 cases have a peer in the same run (cub 2): geometric mean 1.26", newest)

    def test_positions(self):
        rows = [self.row("reduce", "i8", 1 << 28, 0.9, expr="max(a)"), self.row("reduce", "i8", 1 << 28, 0.9, expr="argmax(a)", us=12.0)]
        self.assertEqual(asked.positions({"rows": rows}).splitlines()[2:], ["| c | i8 | 10.0 | 12.0 | 1.20 |"])

    def test_the_planner(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        os.mkdir(os.path.join(folder, "h200"))
        rows = [{"planner": "reduce.a", "best": "reduce.b", "gain": g, "measured": m, "pinned": {"reduce.a": g, "reduce.b": 1.0}, "expr": "sum(a)", "dtype": "f16",
                 "shape": [3, 4]} for g, m in ((1.5, "reduce.b"), (1.04, "reduce.a"), (2.0, "reduce.a"), (1.0, None))]
        with open(os.path.join(folder, "h200", "tune_seed7.json"), "w") as f:
            json.dump({"source": "0123456789", "rows": rows}, f)
        self.assertEqual(asked.planner(folder).splitlines()[2:], [
            "| [7](../bench/results/h200/tune_seed7.json) | H200 | `01234567` | 4 | 50.0 | -, -, 50 | 66.7 | 2.0, sum(a) f16 3x4 by `reduce.a`, not `reduce.b` |"])

    def test_the_first_call_and_the_host(self):
        first = [{"family": "first_result", "who": "tcuops", "case": c, "us": us} for c, us in
                 (("fused_call_cold", 44000.0), ("fused_call_again", 4.0), ("fused_call_other_size", 5.25))]
        self.assertEqual(asked.first_calls({"rows": first}).splitlines()[2:],
                         ["| the first of a process, off its tape | 44.00 ms | 60 ms |", "| another size of it, beyond a repeated call | 1.25 us | 2 us |"])
        rows = [self.row("reduce", "f32", 1 << 20, 0.9, host_us=h) for h in (4.0, 5.5, 7.0)] + [self.row("reduce", "f32", 1 << 20, 0.9, host_us=50.0, us=45.0)]
        self.assertIn("of 3 `tcu_reduce` of less than 40 us of work 2 are within 1 us of that (asked), the slowest 2.5 us beyond it",
                      asked.host({"rows": rows, "launch_host_us": 4.5}))

    def test_a_column_a_dtype(self):
        rows = [self.row("scan", "f32", 1 << 28, 0.9), self.row("scan", "f16", 1 << 28, 0.8), self.row("scan", "f16", 1 << 28, 0.7, case="d")]
        self.assertEqual(asked.by_dtype({"rows": rows}, ("scan",)).splitlines(),
                         ["|  |  | f16 | f32 |", "|---|---|---|---|", "| c | sum(a) | 0.800 | 0.900 |", "| d | sum(a) | 0.700 |  |"])


if __name__ == "__main__":
    unittest.main()
