"""Speed and memory beside crowd-kit and GPflow, at the size of Gravity Spy (LIGO).

``make bench`` makes ``.bench-venv`` once, runs every task in a fresh process, ours and
theirs in turn, prints a table and adds a line of JSON for each run to
``results/bench.jsonl``: seconds, peak memory, commit, versions, machine, seed.

A fit is timed from the long DataFrame to the labels, without imports: seconds on the
clock, and of the processor, which other jobs disturb less. Theirs is stopped after
``--limit`` seconds; what it had done by then is printed, and the ratio is then a lower
bound ("> ..."): the seconds until the limit over the seconds of our whole fit.

A step of SVGPCR is timed beside the same step as the paper takes it, on GPflow 2: see
one_step.py. ``--parts`` chooses what is measured.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BIN = ROOT / ".bench-venv" / "bin"
LIGO = {"items": 173_565, "annotators": 3_443, "classes": 15, "answers": 1_828_981}
TENTH = {**LIGO, "items": LIGO["items"] // 10, "answers": LIGO["answers"] // 10}

# crowd-kit asks for transformers (and so for a deep-learning stack) for text only:
# what its aggregation imports is installed by name instead. GPflow asks for NumPy 1 and
# for TensorFlow with its GPU half, and runs without either: the same is done for it.
# TensorFlow Probability has to know TensorFlow's version, hence the pins.
PEERS = (
    "crowd-kit",
    "nltk",
    "gpflow==2.11.2",
    "tensorflow-probability==0.25.0",
    "tf-keras==2.21.0",
)
PEERS_NEED = (
    *("attrs", "tqdm", "regex"),
    *("tensorflow-cpu==2.20.0", "check-shapes", "deprecated", "multipledispatch"),
    *("tabulate", "decorator", "dm-tree"),
    *("pytest", "hypothesis", "beartype"),  # for tests/test_foreign.py
)
STEPS = ("softmax", "robustmax", "gpflow", "gpflow-fused")  # two of ours, two of theirs


def make_environment() -> None:
    """Make .bench-venv with the peers and this package, once."""
    done, wanted = BIN.parent / ".installed", "\n".join((*PEERS_NEED, *PEERS))
    if done.exists() and done.read_text() == wanted:
        return
    subprocess.run([sys.executable, "-m", "venv", str(BIN.parent)], check=True)
    pip = [str(BIN / "pip"), "install", "--quiet", "-c", str(ROOT / "constraints.txt")]
    subprocess.run([*pip, "--editable", str(ROOT), *PEERS_NEED], check=True)
    subprocess.run([*pip, "--no-deps", *PEERS], check=True)
    done.write_text(wanted)


def measured(folder: Path, *words: str) -> dict[str, Any]:
    """Run one task in a process of its own and return what it printed."""
    command = [str(BIN / "python"), str(ROOT / "benchmarks" / "task.py"), *words]
    done = subprocess.run(
        [*command, "--folder", str(folder)], check=True, stdout=subprocess.PIPE
    )
    return dict(json.loads(done.stdout.splitlines()[-1]))


def machine() -> dict[str, Any]:
    """What the numbers depend on: commit, versions, processor, how busy it was."""
    git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=12"]
    code = (
        "import json, importlib.metadata as m; print(json.dumps({p: m.version(p) for p "
        "in ('wisecrowd', 'crowd-kit', 'gpflow', 'tensorflow-cpu', 'jax', 'numpy', "
        "'scipy', 'pandas', 'pyarrow')}))"
    )
    versions = subprocess.check_output([str(BIN / "python"), "-c", code])
    return {
        "commit": subprocess.check_output(git, text=True).strip(),
        "versions": json.loads(versions),
        "machine": platform.platform(),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
    }


def runs(args: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    """Every run, as words for task.py; ours and theirs alternate."""
    for _ in range(args.repeats if "steps" in args.parts else 0):
        for package in STEPS:
            yield ("step", "SVGPCR", "--package", package, "--crowd", "ligo")
    for _ in range(args.repeats if "fits" in args.parts else 0):
        for method, crowd in (("DawidSkene", "ligo"), ("GLAD", "tenth")):
            for package in ("wisecrowd", "crowd-kit"):
                yield ("fit", method, "--package", package, "--crowd", crowd)
        for form in ("csv", "parquet"):
            yield ("read", form, "--crowd", "ligo")


def step_table(rows: list[dict[str, Any]]) -> str:
    """Median milliseconds per step, and the ratio of the paper's step to ours."""
    lines = [
        f"{'one step':<24}{'ms':>9}{'cpu ms':>9}{'fastest':>9}{'peak MB':>9}",
        *step_ratios(rows),
    ]
    for at, name in enumerate(dict.fromkeys(row["task"] for row in rows), start=1):
        mine = [row for row in rows if row["task"] == name]
        clock, cpu = (median(rows, name, what) for what in ("seconds", "cpu_seconds"))
        lines.insert(
            at,
            f"{name:<24}{1e3 * clock:>9.1f}{1e3 * cpu:>9.1f}"
            f"{min(min(row['chunks']) for row in mine):>9.1f}"
            f"{max(row['peak_mb'] for row in mine):>9,}",
        )
    return "\n".join(lines)


def step_ratios(rows: list[dict[str, Any]]) -> Iterator[str]:
    for link in STEPS[:2]:
        for peer in STEPS[2:]:
            clock, cpu = (
                median(rows, f"SVGPCR {peer}", what)
                / median(rows, f"SVGPCR {link}", what)
                for what in ("seconds", "cpu_seconds")
            )
            yield (
                f"{link}: {peer} takes {clock:.1f} times as long "
                f"({cpu:.1f} times the processor)"
            )


def table(rows: list[dict[str, Any]]) -> str:
    """Median seconds and the largest peak of each task, and the ratios."""
    lines = [
        f"{'task':<24}{'seconds':>9}{'cpu':>9}{'peak MB':>9}"
        f"{'iterations':>12}{'right':>8}"
    ]
    names = list(dict.fromkeys(row["task"] for row in rows))
    for name in names:
        mine = [row for row in rows if row["task"] == name]
        right = mine[-1].get("accuracy")
        lines.append(
            f"{name:<24}{median(rows, name):>9.2f}"
            f"{median(rows, name, 'cpu_seconds'):>9.2f}"
            f"{max(row['peak_mb'] for row in mine):>9,}"
            f"{mine[-1].get('iterations', '')!s:>12}"
            f"{'' if right is None else format(right, '.4f'):>8}"
        )
    return "\n".join([*lines, *ratios(rows, names)])


def median(rows: list[dict[str, Any]], name: str, what: str = "seconds") -> float:
    return statistics.median(row[what] for row in rows if row["task"] == name)


def ratios(rows: list[dict[str, Any]], names: list[str]) -> Iterator[str]:
    for name in names:
        theirs = name.replace("wisecrowd", "crowd-kit")
        if theirs == name or theirs not in names:
            continue
        done = min(r["iterations"] for r in rows if r["task"] == theirs)
        cut = "> " if any(r["stopped"] for r in rows if r["task"] == theirs) else ""
        clock, cpu = (
            f"{cut}{median(rows, theirs, what) / median(rows, name, what):.0f}"
            for what in ("seconds", "cpu_seconds")
        )
        note = f"; it was stopped after {done} iterations" if cut else ""
        yield (
            f"{name.split()[0]}: crowd-kit takes {clock} times as long "
            f"({cpu} times the processor){note}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--parts", nargs="+", choices=["fits", "steps"], default=["steps", "fits"]
    )
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--limit", type=int, default=300, help="seconds for crowd-kit")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    make_environment()
    rows = []
    results = ROOT / "results"
    results.mkdir(exist_ok=True)
    fixed = (
        "--iterations",
        args.iterations,
        "--limit",
        args.limit,
        "--seed",
        args.seed,
    )
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for crowd, shape in (("ligo", LIGO), ("tenth", TENTH)):
            words = ("simulate", json.dumps(shape), "--crowd", crowd)
            measured(folder, *words, *map(str, fixed))
        for words in runs(args):
            row = measured(folder, *words, *map(str, fixed))
            named = dict(zip(words[2::2], words[3::2], strict=True))
            row["task"] = f"{words[1]} {named.get('--package', 'read')}"
            row["stopped"] = row.get("iterations", args.iterations) < args.iterations
            rows.append(row)
            said = {"when": time.time(), "seed": args.seed, "limit": args.limit}
            with (results / "bench.jsonl").open("a") as out:
                out.write(json.dumps({**row, **said, **machine()}) + "\n")
            print(f"{row['task']}: {row['seconds']:.3f} s", file=sys.stderr, flush=True)
    for part, drawn in ((True, step_table), (False, table)):
        some = [row for row in rows if ("chunks" in row) == part]
        if some:
            print(drawn(some), end="\n\n")


if __name__ == "__main__":
    main()
