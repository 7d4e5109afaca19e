#!/usr/bin/env python3
"""Candidates that go wrong in real worker processes: none is ranked, and the run goes on to its end.

    faults.py FAULT_TUNER
"""
import collections
import json
import os
import subprocess
import sys
import tempfile

RIGHT = {"right", "slower", "fast_once"}


def main():
    tuner = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as tmp:
        env = {k: v for k, v in os.environ.items() if not k.startswith("FURLONG_")}
        env["XDG_DATA_HOME"] = tmp + "/data"
        done = subprocess.run(
            [tuner, "tune", "fault", "--tier", "coarse", "--grid", "n=1:4", "--grid",
             "batch=4:16:64", "--no-guard", "--cell-timeout", "1.5", "--worker-memory-gib", "0.25",
             "--ledger", tmp + "/ledger", "--lock-dir", tmp + "/lock", "--json"],
            cwd=tmp, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=800)
        if done.returncode != 0:
            sys.exit("exit code %d: %s" % (done.returncode, done.stderr))
        summary = json.loads(done.stdout)
        cells = []
        for name in os.listdir(tmp + "/ledger"):
            with open(os.path.join(tmp, "ledger", name)) as file:
                cells += [r for r in map(json.loads, file) if r["kind"] == "cell"]
    reasons = collections.defaultdict(collections.Counter)
    injected = 0
    for cell in cells:
        place = "%s %s" % (cell["dtype"], cell["key"])
        ranked = cell["ranked"].split("|")
        wrong = [name for name in ranked if name not in RIGHT]
        if wrong:
            sys.exit("%s: ranked although wrong: %s" % (place, wrong))
        names = cell["cands"].split("|")
        for name in sorted(RIGHT - set(ranked)):
            i = names.index(name)
            sys.exit("%s: %s is not ranked, only %s; it is %s: %s"
                     % (place, name, ranked, cell["s%d" % i], cell.get("r%d" % i, "no reason")))
        for i, name in enumerate(names):
            status, reason = cell["s%d" % i], cell.get("r%d" % i, "")
            if name in RIGHT:
                if status not in ("ok", "eliminated"):
                    sys.exit("%s: %s is %s: %s" % (place, name, status, reason))
                continue
            if status not in ("bad", "error") or not reason:
                sys.exit("%s: %s is %s (%r)" % (place, name, status, reason))
            reasons[name][status + ": " + reason] += 1
            injected += not reason.startswith("dropped")
    for name, counts in sorted(reasons.items()):
        print("%-18s %s" % (name, ", ".join("%d x %s" % (n, r) for r, n in counts.most_common())))
    lattice = [cell for cell in cells if cell["round"] == 0]
    if len(lattice) != 24 or injected < 200:
        sys.exit("%d cells, %d injections: too few to prove anything" % (len(lattice), injected))
    print("%d injections in %d cells, %d workers lost, %.0f s"
          % (injected, len(cells), summary["worker_restarts"], summary["seconds"]["total"]))


if __name__ == "__main__":
    main()
