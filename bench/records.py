"""What bench/results/<gpu> holds, as one list of rows: for the tables that readme.py makes of several records."""
import fnmatch
import glob
import json
import math
import os

import papers
import report

RENAMED = {"reduce.tensor": "reduce.tcu.segmented"}  # rows of the library, by the names that older records have
NOT_TIMES = ("tune*", "gpu_tests*", "sanitizers*", "instructions", "20*")  # 20*: dated copies, of which latest is the newest


def has_times(name):
    return not any(fnmatch.fnmatch(name, pattern) for pattern in NOT_TIMES)


def is_tensor(row):
    return ".tcu." in row["kernel"]


def elements(row):
    return math.prod(row["shape"])


def length(row):
    """Elements that meet in one output or lie in one line; of rows with one input."""
    return math.prod(row["shape"][d - 1] for d in row["dims"])


def watts(row):
    """What it draws beyond the idle device."""
    return row["joule"] * elements(row) * 1e-9 / (row["us"] * 1e-6)


class Records:
    """rows: of latest.json, tensor.json, paper_*.json and the like, each with its file and date, the newest first; results that are wrong
    or have no time are left out. Rows on other numbers of the tuning table than the library's are not among them: those of the papers'
    sweeps are in swept, the newest first too. counted: the rows of instructions.json."""

    def __init__(self, folder):
        self.rows, self.counted, self.swept, points = [], [], [], []
        for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
            name = os.path.splitext(os.path.basename(path))[0]
            if not has_times(name) and name != "instructions":
                continue
            with open(path) as f:
                result = json.load(f)
            if name == "instructions":
                self.counted = result["rows"]
                continue
            points = result["ceilings"] if name == "latest" else points
            good = [r for r in result["rows"] if r.get("us") and r.get("kernel") and r.get("correct") is not False
                    and "factor" not in r]
            for r in good:
                known = {"who": "tcuops"} | r | {"kernel": RENAMED.get(r["kernel"], r["kernel"]), "file": name, "date": result["date"]}
                (self.swept if papers.is_swept(r) else self.rows).append(known)
        for rows in (self.rows, self.swept):
            rows.sort(key=lambda r: r["date"], reverse=True)  # a stable sort: what stands first in a file stays so
        self.ceilings = report.Ceilings(points)

    def fraction(self, row):
        """Of the streaming kernels' speed: of the row's own run, or where it has no ceilings of latest.json's."""
        if row.get("fraction"):
            return row["fraction"]
        read = elements(row) * report.BYTES[row["dtype"]]
        ideal = self.ceilings.ideal_us(read, row["bytes"] - read)
        return ideal / row["us"] if ideal else None

    def of(self, like, **wanted):
        """The rows of the same problem as `like`, an entry of cases.json or a row, whose fields have the wanted values."""
        same = {k: like[k] for k in ("dtype", "expr", "shape", "dims")} | wanted
        bytes_ = like["bytes"] if "bytes" in like else sum(report.traffic(like))
        return [r for r in self.rows if all(r.get(k) == v for k, v in same.items()) and r["bytes"] == bytes_]

    def best(self, rows):
        """(the fastest row on tensor cores, the fastest on ordinary ones) of our rows of a problem, both of one record: of those of the
        newest day that have both, the one with the most rows. Each of the newest that has it, if none has both; None where there is none."""
        ours = [r for r in rows if r["who"] == "tcuops"]
        files = list(dict.fromkeys(r["file"] for r in ours))
        rows_of = {file: [r for r in ours if r["file"] == file] for file in files}
        kinds = {file: {is_tensor(r) for r in rows_of[file]} for file in files}
        both = max((file for file in files if len(kinds[file]) == 2), key=lambda f: (rows_of[f][0]["date"][:10], len(rows_of[f])), default=None)
        found = []
        for kind in (True, False):
            file = both or next((file for file in files if kind in kinds[file]), None)
            found.append(min((r for r in rows_of.get(file, []) if is_tensor(r) == kind), key=lambda r: r["us"], default=None))
        return tuple(found)

    def peer(self, rows, who):
        """The fastest of a peer in the newest record that has it."""
        mine = [r for r in rows if r["who"] == who]
        return min((r for r in mine if r["file"] == mine[0]["file"]), key=lambda r: r["us"], default=None)

    def newer_cub(self, rows):
        """The same of the CUB that is newer than the toolkit's."""
        return self.peer(rows, next((r["who"] for r in rows if r["who"].startswith("cub ")), None))

    def sweep(self, kernel):
        """The rows of the newest sweep of a kernel."""
        mine = [r for r in self.swept if r["kernel"] == kernel]
        return [r for r in mine if r["file"] == mine[0]["file"]]

    def energy(self, row, file=None):
        """The newest row with energy of the same kernel on segments of the same length, however many there are; of that file, if one is
        named."""
        same = [r for r in self.rows if r.get("joule") and all(r[k] == row[k] for k in ("who", "kernel", "dtype", "expr", "dims"))]
        return next((r for r in same if length(r) == length(row) and file in (None, r["file"])), None)

    def count(self, row, case):
        """The row of instructions.json."""
        whose = row["who"], row["kernel"]
        return next((r for r in self.counted if report.key(r) == report.key(case) and (r["who"], r["kernel"]) == whose), None)
