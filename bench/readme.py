#!/usr/bin/env python3
"""README's performance section, made from the newest results, and the tables of docs/performance.md that several records make."""
import json
import os
import statistics

import asked
import claims
import records
import report
import tensor

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
END = "<!-- end of it -->"
WHERE = {"h200": "--device cuda", "cpu": "--device cpu"}


def compared(result):
    """The peers that did some case, with their versions; which of them had no time for every case; and which others had time for none."""
    did = {r["who"] for r in result["rows"] if r.get("us")}
    late = [p for p in result["peers"] if f"{p}: the time budget was spent" in result.get("left_out", [])]  # bench/peers/common.py
    names = [p if p.endswith(version) else f"{p} {version}" for p, version in result["peers"].items() if p in did]
    return names, [p for p in late if p in did], [p for p in late if p not in did]


def family_lines(rows):
    for family, name in report.FAMILIES.items():
        cases = [found for found in report.by_case([r for r in rows if r["family"] == family]).values() if "tcuops" in found]
        if not cases:
            continue
        fractions = sorted(f["tcuops"]["fraction"] for f in cases if f["tcuops"]["fraction"])
        ratios = [r for r in map(report.ratio, cases) if r]
        spread = " / ".join(f"{x:.2f}" for x in (fractions[0], statistics.median(fractions), fractions[-1])) if fractions else ""
        yield [name, len(cases), spread, f"{report.geometric_mean(ratios):.2f} ({len(ratios)})" if ratios else "", sum(r < 1 for r in ratios)]


def latest(folder):
    with open(os.path.join(ROOT, "bench", "results", folder, "latest.json")) as f:
        return json.load(f)


def section(folder, cases):
    result = latest(folder)
    peers, late, absent = compared(result)
    quick = " --quick" if result["quick"] else ""
    plots = sorted(f for f in os.listdir(os.path.join(ROOT, "bench", "results", folder, "plots")) if f.startswith("overview"))
    links = ", ".join(f"[{p[9:-4].replace('_', ' ')}](bench/results/{folder}/plots/{p})" for p in plots)
    table = report.table(family_lines(report.timed(result)),
                         ["", "cases", "fraction of the ceiling: least / median / most", "speed against the fastest peer (cases)",
                          "cases in which a peer was faster"])
    if late:
        table += f"\n\n{' and '.join(late)} had no time for every case: of a case, the fastest of those that did it counts, which flatters."
    if absent:
        table += f" {' and '.join(absent)} had time for none."
    if folder == "h200":
        reached, all_asked = asked.reached(result, cases)
        table += f" {reached} of {all_asked} cases reach the fraction that [is asked of them](docs/performance.md#the-newest-run-on-an-h200)."
    return (f"{result['device']}, {result['date'][:10]}, `./run bench {WHERE[folder]}{quick}`; peers in the same run: {', '.join(peers)}; "
            f"source `{result['source'][:12]}`. [Every case](bench/results/{folder}/latest.md); plots: {links}.\n\n{table}\n")


def put(text, name, made):
    """The text with what was made between the two lines that say so."""
    begin = f"<!-- made by bench/readme.py{name} -->"
    before, rest = text.split(begin)
    return before + begin + "\n" + made + END + rest.split(END, 1)[1]


def rewrite(path, pieces):
    path = os.path.join(ROOT, path)
    with open(path) as f:
        text = f.read()
    for name, made in pieces.items():
        text = put(text, name, made)
    with open(path, "w") as f:
        f.write(text)


def main():
    known = records.Records(os.path.join(ROOT, "bench", "results", "h200"))
    with open(os.path.join(ROOT, "bench", "cases.json")) as f:
        cases = json.load(f)["cases"]
    rewrite("README.md", {"": "\n".join(section(f, cases) for f in WHERE)})
    tables = {": tensor cores": tensor.beside(known, cases), ": segments": tensor.segments(known, cases), ": chains": tensor.chains(known),
              ": the memory": tensor.bandwidth(known, cases), ": claims": claims.table(known)}
    result, of_h100 = latest("h200"), latest("h100-80gb-hbm3")
    tables |= {": newest run": asked.newest(result, "h200"), ": asked, by family": asked.counts(result, cases), ": asked, by row": asked.table(result, cases),
               ": short work": asked.short_work(result), ": positions": asked.positions(result), ": scans": asked.by_dtype(result, ("scan", "segmented_scan")),
               ": last run on an H100": asked.newest(of_h100, "h100-80gb-hbm3"), ": asked on an H100": asked.counts(of_h100, cases),
               ": planner": asked.planner(os.path.join(ROOT, "bench", "results")), ": first calls": asked.first_calls(result), ": the host": asked.host(result)}
    rewrite("docs/performance.md", {name: table + "\n" for name, table in tables.items()})


if __name__ == "__main__":
    main()
