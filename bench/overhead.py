#!/usr/bin/env python3
"""What of a coarse run's time is not warm-up, timing or verification, where candidates take 1 ms?

    bench/overhead.py [--furlong build/release/bin/furlong] [--no-guard]

Races ten cells of potrf float whose fast candidates take about a millisecond. Audits race again in a
fresh process and are listed apart; time that a busy machine cost is left out of the whole. Exit code
1 when more than 35 % of the rest is overhead, audits counted as overhead too.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

CELLS = ((20, 8192), (24, 8192), (48, 1024), (64, 128), (96, 128))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--furlong", default="build/release/bin/furlong")
    parser.add_argument("--no-guard", action="store_true")
    options = parser.parse_args()
    env = {k: v for k, v in os.environ.items()
           if not k.startswith("FURLONG_") and k not in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")}
    with tempfile.TemporaryDirectory() as folder:
        env["XDG_DATA_HOME"] = folder
        with open(folder + "/keys", "w") as file:
            for uplo in "LU":
                for n, batch in CELLS:
                    file.write("potrf float uplo=%s,n=%d,batch=%d\n" % (uplo, n, batch))
        command = [os.path.abspath(options.furlong), "tune", "potrf", "--dtype", "float", "--tier",
                   "coarse", "--only-named", "--remeasure-keys", folder + "/keys", "--ledger",
                   folder + "/ledger", "--lock-dir", folder + "/lock", "--json"]
        if options.no_guard:
            command.append("--no-guard")
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit("exit code %d: %s" % (done.returncode, done.stderr))
    summary = json.loads(done.stdout)
    seconds = summary["seconds"]
    whole = seconds["total"] - seconds["guard"]
    useful = seconds["warm"] + seconds["timing"] + seconds["verify"]
    print("%s, 1 thread; %d cells" % (summary["device"], summary["measured"]))
    print("%.2f s: warm-up %.2f, timing %.2f, verification %.2f, audits %.2f, other %.2f; "
          "busy machine %.2f more"
          % (whole, seconds["warm"], seconds["timing"], seconds["verify"], seconds["audit"],
             whole - useful - seconds["audit"], seconds["guard"]))
    share = 1 - useful / whole
    print("overhead: %.1f %% (without audits %.1f %%)"
          % (100 * share, 100 * (whole - useful - seconds["audit"]) / (whole - seconds["audit"])))
    return 0 if share <= 0.35 else 1


if __name__ == "__main__":
    sys.exit(main())
