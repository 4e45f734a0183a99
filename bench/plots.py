#!/usr/bin/env python3
"""SVGs of a result of ./run bench, into plots/ beside it; run.py calls this, and python3 bench/plots.py RESULT.json
draws them again. A result as a whole gives an overview of each family, a paper's experiment the paper's plot."""
import json
import os
import re
import sys

import papers
import report

try:
    import matplotlib
    matplotlib.use("svg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import FuncFormatter, NullFormatter
except ImportError:
    plt = None

# Colours of Okabe and Ito, which the colour-blind tell apart; a marker each beside them.
OURS = ("#0072B2", "o")
PEERS = {"cub": ("#E69F00", "s"), "cccl": ("#F0E442", "s"), "torch": ("#D55E00", "^"), "jax": ("#009E73", "D"), "cupy": ("#CC79A7", "v"),
         "cublas": ("#56B4E9", "P"), "base": ("#D55E00", "^"), "numpy": ("#E69F00", "s")}
OTHERS = (("#000000", "X"), ("#999933", "P"), ("#882255", "h"), ("#332288", "<"), ("#AA4499", ">"), ("#661100", "p"),
          ("#808080", "d"), ("#44AA99", "8"))
INK, GREY, PALE = "#222222", "#767676", "#E4E4E4"
NAMES = {"tcuops": "TCUOps", "cub": "CUB", "torch": "PyTorch", "jax": "JAX", "cupy": "CuPy", "cublas": "cuBLAS",
         "base": "Julia's Base", "numpy": "NumPy", "algorithm": "Algorithm 1"}
STYLE = {"svg.hashsalt": "tcuops", "svg.fonttype": "none", "font.family": "sans-serif",
         "font.sans-serif": ["DejaVu Sans"], "font.size": 9, "text.color": INK, "axes.labelcolor": INK,
         "axes.edgecolor": GREY, "xtick.color": GREY, "ytick.color": GREY, "xtick.labelcolor": INK,
         "ytick.labelcolor": INK, "axes.spines.top": False, "axes.spines.right": False, "axes.axisbelow": True,
         "figure.facecolor": "white", "savefig.facecolor": "white", "legend.frameon": False}


def name_of(who):
    return NAMES.get(who, who.replace("cub ", "CUB "))


def style_of(who, taken=0):
    who = "cccl" if who.startswith("cub ") else who  # run.py's name of it
    return OURS if who == "tcuops" else PEERS.get(who) or OTHERS[taken % len(OTHERS)]


def save(figure, folder, name):
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name + ".svg")
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    plt.close(figure)
    # Six decimals of a point say nothing more than two.
    with open(path) as f:
        text = re.sub(r"(\.\d\d)\d{2,}(?=[ \",)\nLMCQz])", r"\1", f.read())
    with open(path, "w") as f:
        f.write(text)
    return path


def machine(result):
    return f"{result['device']}, {result['date'][:10]}"


# ---- a family's overview: a case a line


def describe(row):
    shape = "×".join(map(str, row["shape"]))
    over = f" over {','.join(map(str, row['dims']))} of" if row["dims"] and len(row["shape"]) > 1 else ""
    return f"{row['expr']}{over}  {shape}"


def state_of(ours):
    if not ours or ours.get("us") is None:
        return "not measured" if not ours else "failed"
    return "" if ours["correct"] else "WRONG"


def by_fraction(rows):
    """[(key, {who: row})], our best first; what we could not do last."""
    cases = list(report.by_case(rows).items())
    ours = lambda found: found.get("tcuops") or {}
    return sorted(cases, key=lambda c: -(ours(c[1]).get("fraction") or 0) if not state_of(ours(c[1])) else 1)


def draw_case(axes, y, found):
    fractions = {w: r["fraction"] for w, r in found.items() if r.get("fraction")}
    if fractions:
        axes.plot([min(fractions.values()), max(fractions.values())], [y, y], color="#BDBDBD", lw=1.2, zorder=1)
    for who, fraction in fractions.items():
        colour, marker = style_of(who)
        is_ours = who == "tcuops"
        axes.plot([fraction], [y], marker, color=colour, ms=8.5 if is_ours else 6, mec="white", mew=0.7,
                  clip_on=False, zorder=4 if is_ours else 3)


def label_case(axes, y, case, found):
    row = found.get("tcuops") or next(iter(found.values()))
    ours, best = found.get("tcuops"), report.fastest_peer(found)
    at = axes.get_yaxis_transform()
    axes.text(-0.915, y, case, transform=at, va="center", fontsize=8.5)
    axes.text(-0.56, y, row["dtype"], transform=at, va="center", fontsize=8.5)
    axes.text(-0.02, y, describe(row), transform=at, va="center", ha="right", fontsize=7.5, color=GREY)
    state = state_of(ours)
    if state:
        return axes.text(1.03, y, state, transform=at, va="center", fontsize=8.5, color="#B00020", weight="bold")
    axes.text(1.12, y, f"{report.gbps(ours):,.0f}", transform=at, va="center", ha="right", fontsize=8.5)
    if best:
        ratio = best["us"] / ours["us"]
        axes.text(1.235, y, f"{ratio:.2f}", transform=at, va="center", ha="right", fontsize=8.5,
                  color=INK if ratio >= 1 else "#B00020", weight="normal" if ratio >= 1 else "bold")
        axes.text(1.255, y, name_of(best["who"]), transform=at, va="center", fontsize=7.5, color=GREY)


def overview(result, family, rows):
    cases = by_fraction(rows)
    there = {w for _, found in cases for w in found}
    whos = [w for w in ["tcuops", *PEERS] if w in there] + sorted(there - {"tcuops", *PEERS})
    height = 0.215 * len(cases) + 1.75
    figure = plt.figure(figsize=(12, height))
    axes = figure.add_axes([0.4, 0.62 / height, 0.42, 1 - 1.75 / height])
    for i, ((case, _, _), found) in enumerate(cases):
        if i % 2:
            axes.axhspan(i - 0.5, i + 0.5, xmin=-0.93, xmax=1.415, color="#F6F6F6", zorder=0, clip_on=False, lw=0)
        draw_case(axes, i, found)
        label_case(axes, i, case, found)
    most = max((r["fraction"] for _, found in cases for r in found.values() if r.get("fraction")), default=1)
    axes.set(xlim=(0, max(1.04, 1.03 * most)), ylim=(len(cases) - 0.5, -0.5), yticks=[],
             xlabel="fraction of the ceiling, the fastest streaming kernel for the same bytes in the same run")
    axes.xaxis.label.set_fontsize(8.5)
    axes.axvline(1, color=INK, lw=1.2, zorder=2)
    axes.grid(axis="x", color=PALE, lw=0.8)
    axes.spines["left"].set_visible(False)
    top = axes.get_xaxis_transform()
    axes.text(1, 1 + 0.06 / (height - 1.75), "ceiling", transform=top, ha="center", va="bottom", fontsize=8.5)
    head = dict(transform=axes.transAxes, va="bottom", fontsize=8, color=GREY)
    axes.text(1.12, 1 + 0.06 / (height - 1.75), "GB/s", ha="right", **head)
    axes.text(1.165, 1 + 0.06 / (height - 1.75), "× the fastest peer", ha="left", **head)
    ratios = [best["us"] / found["tcuops"]["us"] for _, found in cases
              if not state_of(found.get("tcuops")) and (best := report.fastest_peer(found))]
    figure.text(0.015, 1 - 0.3 / height, report.FAMILIES.get(family, family).capitalize(), fontsize=14, weight="bold", va="center")
    told = f"{machine(result)}: {len(cases)} case{'s' * (len(cases) > 1)}"
    if ratios:
        told += (f"; {report.geometric_mean(ratios):.2f} times the speed of the fastest peer (geometric mean), "
                 f"slower in {sum(r < 1 for r in ratios) or 'none'}")
    figure.text(0.015, 1 - 0.58 / height, told, fontsize=9, color=GREY, va="center")
    handles = [plt.Line2D([], [], marker=style_of(w)[1], color=style_of(w)[0], ls="", mec="white", mew=0.7,
                          ms=8.5 if w == "tcuops" else 6, label=name_of(w)) for w in whos]
    figure.legend(handles=handles, loc="center left", bbox_to_anchor=(0.39, 1 - 0.85 / height), ncol=len(whos),
                  fontsize=9, handletextpad=0.1, columnspacing=1.2)
    return figure


# ---- a paper's plot: curves over a size


def series_of(row):
    """(order, name) of the curve that a row belongs to."""
    if row["who"] == "algorithm":
        return 1, row["kernel"]
    if row["who"] != "tcuops":
        return 2, name_of(row["who"])
    if not row.get("pinned"):
        return 0, "TCUOps, planner's choice"
    return 1, row["kernel"] + (f", B = {row['B']}" if "B" in row else "")


def curves(rows, x_of, y_of):
    """{(order, name): (who, sorted points)}, in order and then as they come"""
    found = {}
    for row in rows:
        x, y = x_of(row), y_of(row)
        if x is not None and y is not None and row["correct"] is not False:
            found.setdefault(series_of(row), (row["who"], []))[1].append((x, y))
    return {name: (who, sorted(points)) for name, (who, points) in sorted(found.items(), key=lambda f: f[0][0])}


def curve_style(order, who, taken):
    if order == 0:
        return dict(color=OURS[0], marker=OURS[1], lw=2.4, ms=6, zorder=5)
    if order == 2:
        return dict(color=style_of(who, taken)[0], marker=style_of(who, taken)[1], lw=1.2, ms=4.5, zorder=3)
    colour, marker = OTHERS[taken % len(OTHERS)]
    return dict(color=colour, marker=marker, lw=1.4, ms=5.5, ls=(0, (4, 1.5)), zorder=4)


def power_label(x, _=None):
    """Of a power of two: 64, 2¹⁰."""
    n = round(x)
    return str(n) if n <= 512 else "2" + str(n.bit_length() - 1).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def draw_panel(axes, rows, experiment, quantity, styles):
    x_of = papers.AXES[experiment.x][1]
    for limit in sorted({tuple(points) for _, points in curves(rows, x_of, quantity.limit).values()}):
        axes.plot(*zip(*limit), color=GREY, lw=1.2, ls=(0, (1, 1.2)), zorder=2, label=quantity.limit_label)
    floor = quantity.floor if quantity.is_log else 0  # where an error of 0 is drawn
    for name, (who, points) in curves(rows, x_of, quantity.of).items():
        order = name[0]
        if name not in styles:
            styles[name] = curve_style(order, who, sum(n[0] == order for n in styles))
        axes.plot([p[0] for p in points], [max(p[1], floor) for p in points], label=name[1], mec="white", mew=0.5,
                  **styles[name])
    xs = sorted({x for row in rows if (x := x_of(row))})
    is_binary = all(x & (x - 1) == 0 for x in xs)
    axes.set_xscale("log", base=2 if is_binary else 10)
    if is_binary:
        axes.set_xticks(xs[::-(-len(xs) // 8)])
        axes.xaxis.set_major_formatter(FuncFormatter(power_label))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", which="minor", length=0)
    if quantity.is_log:
        axes.set_yscale("log")
    else:
        axes.set_ylim(bottom=0)
    axes.grid(color=PALE, lw=0.8)
    axes.set_ylabel(quantity.label)


def legend_of(figure, panels, **where):
    by_name = {}
    for axes in panels:
        for handle, name in zip(*axes.get_legend_handles_labels()):
            by_name.setdefault(name, handle)
    figure.legend(by_name.values(), by_name.keys(), **where)


def matches(row, which):
    return all(row.get(field) == value for field, value in which.items())


def paper_plot(result):
    """None if no row has both what the x-axis and a y-axis show."""
    experiment = papers.BY_NAME[result["paper"]]
    x_of = papers.AXES[experiment.x][1]
    drawn = [y for y in experiment.y if curves(result["rows"], x_of, papers.QUANTITIES[y].of)]
    columns = [(title, rows) for title, which in experiment.panels
               if (rows := [r for r in result["rows"] if matches(r, which)])]
    if not drawn or not columns:
        return None
    missing = result.get("missing", [])
    width, height = 4.6 * max(len(columns), 1.25) + 2.6, 3.1 * len(drawn) + 1.45 + 0.17 * len(missing)
    figure = plt.figure(figsize=(width, height))
    grid = figure.add_gridspec(len(drawn), len(columns), wspace=0.14, hspace=0.2, left=0.8 / width,
                               right=1 - 2.5 / width, top=1 - 0.95 / height,
                               bottom=(0.62 + 0.17 * len(missing)) / height)
    styles, panels = {}, []
    for i, y in enumerate(drawn):
        for j, (title, rows) in enumerate(columns):
            axes = figure.add_subplot(grid[i, j], sharey=panels[-1] if j > 0 else None)
            panels.append(axes)
            draw_panel(axes, rows, experiment, papers.QUANTITIES[y], styles)
            if i == 0 and title:
                axes.set_title(title, fontsize=10, loc="left")
            if j > 0:
                axes.set_ylabel("")
            if i == len(drawn) - 1:
                axes.set_xlabel(papers.AXES[experiment.x][0])
    legend_of(figure, panels, loc="upper left", bbox_to_anchor=(1 - 2.45 / width, 1 - 0.9 / height), fontsize=8.5)
    figure.text(0.15 / width, 1 - 0.27 / height, experiment.title, fontsize=13, weight="bold", va="center")
    where = "nothing was timed" if papers.is_counted(experiment) else machine(result)
    figure.text(0.15 / width, 1 - 0.53 / height, f"after {experiment.paper}, {experiment.figure}; {where}", color=GREY,
                va="center")
    for i, text in enumerate(reversed(missing)):
        figure.text(0.15 / width, (0.12 + 0.17 * i) / height, text, fontsize=7.5, color=GREY, va="center")
    return figure


# ---- what to draw


def make(result, folder):
    """Writes a result's plots into folder; returns a line about each."""
    if plt is None:
        return ["no plots: this python3 cannot import matplotlib (Debian: python3-matplotlib)"]
    with plt.rc_context(STYLE):
        if "paper" in result:
            figure = paper_plot(result)
            if figure is None:
                return [f"no plot of {result['paper']}: nothing of what it shows was measured"]
            return ["wrote " + os.path.relpath(save(figure, folder, result["paper"]))]
        families = {}
        for row in report.timed(result):
            families.setdefault(row["family"], []).append(row)
        return ["wrote " + os.path.relpath(save(overview(result, f, rows), folder, "overview_" + f))
                for f, rows in families.items()]


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("usage: python3 bench/plots.py RESULT.json ...")
    for result_path in sys.argv[1:]:
        with open(result_path) as result_file:
            loaded = json.load(result_file)
        print("\n".join(make(loaded, os.path.join(os.path.dirname(os.path.abspath(result_path)), "plots"))))
