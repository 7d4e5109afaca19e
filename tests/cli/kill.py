#!/usr/bin/env python3
"""A tuner killed at any moment leaves a readable ledger, and the same command goes on.

    kill.py FURLONG [--rounds N]
"""
import argparse
import collections
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import zlib


def check(folder):
    """The cell keys of the whole lines of a ledger folder; exits when a whole line is damaged."""
    lines = []
    for name in os.listdir(folder) if os.path.isdir(folder) else []:
        with open(os.path.join(folder, name), "rb") as file:
            lines += file.read().split(b"\n")[:-1]
    keys = []
    for line in lines:
        body, mark, rest = line.rpartition(b', "crc": "')
        record = json.loads(line)
        if not mark or rest[:8].decode() != "%08x" % zlib.crc32(body):
            sys.exit("damaged line: %r" % line[:200])
        if record["kind"] == "cell":
            keys.append((record["dtype"], record["key"]))
    return keys


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("furlong")
    parser.add_argument("--rounds", type=int, default=12)
    options = parser.parse_args()
    furlong = os.path.abspath(options.furlong)
    rng = random.Random(20261201)
    with tempfile.TemporaryDirectory() as tmp:
        env = {k: v for k, v in os.environ.items() if not k.startswith("FURLONG_")}
        env["XDG_DATA_HOME"] = tmp + "/data"
        command = [furlong, "tune", "potrf", "--tier", "preview", "--dtype", "float,double",
                   "--grid", "n=1:2:3:4:5", "--grid", "batch=1:16:64", "--ledger", tmp + "/ledger",
                   "--lock-dir", tmp + "/lock"]
        run = dict(cwd=tmp, env=env, stdin=subprocess.DEVNULL, text=True,
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        seen = 0
        for i in range(options.rounds):
            process = subprocess.Popen(command, **run)
            time.sleep(rng.uniform(0.05, 0.4))
            process.kill()
            process.communicate()
            keys = check(tmp + "/ledger")
            if len(keys) < seen:
                sys.exit("round %d: a record was lost" % i)
            seen = len(keys)
        killed = seen

        # Ctrl-C finishes the cell in flight and says how to go on.
        process = subprocess.Popen(command, **run)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
        if process.returncode not in (0, 1):
            sys.exit("SIGINT: exit code %d: %s" % (process.returncode, err))
        if process.returncode == 1 and "the same command goes on" not in err:
            sys.exit("SIGINT: the message is %r" % err)
        check(tmp + "/ledger")

        done = subprocess.run(command, **{**run, "timeout": 300})
        if done.returncode != 0:
            sys.exit("the last run failed: " + done.stderr)
        counts = collections.Counter(check(tmp + "/ledger"))
        # preview keeps n = 1 3 5 and batch = 1 64 of the grid, for both uplo and both dtypes.
        if len(counts) != 24:
            sys.exit("%d cells recorded, 24 planned" % len(counts))
        twice = [key for key, n in counts.items() if n > 1]
        if twice:
            sys.exit("measured twice: %s" % twice[:3])
        again = subprocess.run(command + ["--json"], **{**run, "timeout": 300})
        summary = json.loads(again.stdout)
        if summary["measured"] != 0:
            sys.exit("a repeated run measured %d cells" % summary["measured"])
    print("%d kills, %d of 24 cells before the last run; every line whole, none measured twice"
          % (options.rounds, killed))


if __name__ == "__main__":
    main()
