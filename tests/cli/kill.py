#!/usr/bin/env python3
"""A tuner interrupted at any moment (SIGINT, SIGTERM, SIGKILL of the driver or its worker) loses at
most the cell in flight, leaves a readable ledger, and the same command goes on.

    kill.py FURLONG [--rounds N]
"""
import argparse
import collections
import json
import os
import random
import shutil
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


def children(pid):
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid)) as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def read_all(fd):
    with os.fdopen(fd, "rb") as file:
        return file.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("furlong")
    parser.add_argument("--rounds", type=int, default=100)
    options = parser.parse_args()
    furlong = os.path.abspath(options.furlong)
    rng = random.Random(20261201)
    with tempfile.TemporaryDirectory() as tmp:
        env = {k: v for k, v in os.environ.items() if not k.startswith("FURLONG_")}
        env["XDG_DATA_HOME"] = tmp + "/data"
        command = [furlong, "tune", "potrf", "--tier", "preview", "--dtype", "float,double",
                   "--grid", "n=1:2:3:4:5", "--grid", "batch=1:16:64", "--ledger", tmp + "/ledger",
                   "--lock-dir", tmp + "/lock", "--no-guard"]
        run = dict(cwd=tmp, env=env, stdin=subprocess.DEVNULL, text=True,
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        seen = 0
        signals = collections.Counter()
        for i in range(options.rounds):
            if i % 20 == 10:
                shutil.rmtree(tmp + "/ledger")
                seen = 0
            events, writer = os.pipe()
            process = subprocess.Popen(command + ["--progress-fd", str(writer)], pass_fds=[writer],
                                       **run)
            os.close(writer)
            time.sleep(rng.uniform(0.02, 0.5))
            what = rng.choice(["driver SIGKILL", "worker SIGKILL", "driver SIGINT",
                               "driver SIGTERM"])
            target, name = what.split()
            pids = children(process.pid) if target == "worker" else [process.pid]
            for pid in pids:
                try:
                    os.kill(pid, getattr(signal, name))
                except ProcessLookupError:
                    pass
            signals[what] += 1
            if target == "worker":
                # The run goes on with another worker.
                time.sleep(rng.uniform(0.05, 0.3))
                if process.poll() not in (None, 0):
                    sys.exit("round %d: the run ended with its worker: exit code %d, %s"
                             % (i, process.returncode, process.stderr.read()))
                process.kill()
            out, err = process.communicate(timeout=120)
            if name in ("SIGINT", "SIGTERM") and (
                    process.returncode not in (0, 1, -getattr(signal, name))):
                sys.exit("round %d: %s: exit code %d: %s" % (i, what, process.returncode, err))
            told = [json.loads(line) for line in read_all(events).splitlines()
                    if line.endswith(b"}")]
            keys = check(tmp + "/ledger")
            done = {(event["dtype"], event["key"]) for event in told
                    if event["event"] == "cell_done"}
            if not done <= set(keys):
                sys.exit("round %d, %s: told as done, not recorded: %s" % (i, what, done - set(keys)))
            if len(keys) < seen:
                sys.exit("round %d, %s: a record was lost" % (i, what))
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
        # preview keeps n = 1 3 5 and batch = 1 64 of the grid, for both uplo and both dtypes; the
        # rest is refinement's.
        lattice = {(dtype, "uplo=%s,n=%d,batch=%d" % (uplo, n, batch)) for uplo in "LU"
                   for n in (1, 3, 5) for batch in (1, 64) for dtype in ("float", "double")}
        if not lattice <= set(counts):
            sys.exit("not recorded: %s" % sorted(lattice - set(counts))[:3])
        twice = [key for key, n in counts.items() if n > 1]
        if twice:
            sys.exit("measured twice: %s" % twice[:3])
        again = subprocess.run(command + ["--json"], **{**run, "timeout": 300})
        summary = json.loads(again.stdout)
        if summary["measured"] != 0:
            sys.exit("a repeated run measured %d cells" % summary["measured"])
    print("%s; %d cells before the last run; every line whole, none lost or measured twice"
          % (", ".join("%d x %s" % (n, what) for what, n in sorted(signals.items())), killed))


if __name__ == "__main__":
    main()
