#!/usr/bin/env python3
"""How often does the same tune name the same winner? Ten coarse tunes of potrf float on 20 cells.

    bench/stability.py [--furlong build/release/bin/furlong] [--runs 10] [--no-guard]

Each run has a ledger of its own. A run agrees at a cell when its winner is the most frequent one of
all runs, or both lie inside the 3 % tie of that run's own times. Prints the cells where some run does
not agree. Exit code 1 when fewer than 95 % of the (cell, run) pairs agree.

Also prints how many agree when one tie is taken for all runs: the candidates within 3 % of the
fastest, by the median over the runs of their times in relation to each run's fastest.
"""
import argparse
import collections
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

TIE = 1.03


def tune(options, folder):
    env = {k: v for k, v in os.environ.items()
           if not k.startswith("FURLONG_") and k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
    env["XDG_DATA_HOME"] = folder
    with open(folder + "/keys", "w") as file:
        for uplo in "LU":
            for n, batch in ((4, 128), (8, 1024), (8, 8192), (16, 128), (16, 1024), (24, 1),
                             (24, 1024), (32, 128), (64, 16), (128, 16)):
                file.write("potrf float uplo=%s,n=%d,batch=%d\n" % (uplo, n, batch))
    command = [os.path.abspath(options.furlong), "tune", "potrf", "--dtype", "float", "--tier",
               "coarse", "--only-named", "--remeasure-keys", folder + "/keys", "--ledger",
               folder + "/ledger", "--lock-dir", folder + "/lock", "--json"]
    if options.no_guard:
        command.append("--no-guard")
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit("exit code %d: %s" % (done.returncode, done.stderr))
    cells = {}
    run = None
    for path in pathlib.Path(folder, "ledger").iterdir():
        for line in path.read_text().splitlines():
            record = json.loads(line)
            if record["kind"] == "run":
                run = record
            if record["kind"] != "cell":
                continue
            names = record["cands"].split("|")
            times = {name: record["m%d" % i] for i, name in enumerate(names)
                     if record["m%d" % i] is not None}
            cells[record["key"]] = (record["ranked"].split("|")[0], times)
    return cells, json.loads(done.stdout), run


def tie_of(runs):
    """The candidates that all runs together see within 3 % of the fastest."""
    relative = collections.defaultdict(list)
    for times in runs:
        best = min(times.values())
        for name, time_ms in times.items():
            relative[name].append(time_ms / best)
    medians = {name: statistics.median(ratios) for name, ratios in relative.items()}
    return {name for name, ratio in medians.items() if ratio <= TIE * min(medians.values())}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--furlong", default="build/release/bin/furlong")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--no-guard", action="store_true")
    options = parser.parse_args()
    runs = []
    for number in range(options.runs):
        with tempfile.TemporaryDirectory() as folder:
            began = time.time()
            cells, summary, run = tune(options, folder)
            if number == 0:
                print("%s (%s); %s" % (run["device"], run["device_name"], run["env"]))
            print("run %2d: %d cells in %.0f s, %d discards, %d repetitions repeated, %d "
                  "counted though disturbed"
                  % (number + 1, len(cells), time.time() - began, summary["discards"],
                     summary["repeated"], summary["disturbed"]))
            runs.append(cells)
    pairs = agreeing = stable = pooled = 0
    for key in runs[0]:
        winners = collections.Counter(run[key][0] for run in runs)
        common = winners.most_common(1)[0][0]
        good = 0
        tied = tie_of([run[key][1] for run in runs])
        for run in runs:
            winner, times = run[key]
            best = min(times.values())
            # The same winner, or both inside this run's tie.
            good += winner == common or (times.get(common, 9e9) <= TIE * best
                                         and times[winner] <= TIE * best)
            pooled += winner == common or {winner, common} <= tied
        pairs += len(runs)
        agreeing += good
        stable += good == len(runs)
        if good < len(runs):
            print("%-24s %s" % (key, ", ".join("%d x %s" % (n, w) for w, n in
                                               winners.most_common())))
    print("%d of %d (cell, run) pairs agree: %.1f %%; %d of %d cells in every run"
          % (agreeing, pairs, 100 * agreeing / pairs, stable, len(runs[0])))
    print("%d (%.1f %%) with one tie for all runs" % (pooled, 100 * pooled / pairs))
    return 0 if agreeing >= 0.95 * pairs else 1


if __name__ == "__main__":
    sys.exit(main())
