#!/usr/bin/env python3
"""A full disk gives one clear line, exit code 1, and a ledger of whole lines.

    full_disk.py FURLONG

Mounts a tiny file system in a mount namespace of its own; exit code 77 where that is not allowed.
"""
import json
import os
import subprocess
import sys
import tempfile


def inside(furlong, folder):
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", folder]).returncode != 0:
        print("skipped: no file system can be mounted here")
        return 77
    command = [furlong, "tune", "potrf", "--tier", "preview", "--dtype", "float", "--grid",
               "n=1:2:3:4:5:6:7:8", "--grid", "batch=1:16:64", "--ledger", folder, "--lock-dir",
               folder + "-lock", "--no-guard"]
    env = {k: v for k, v in os.environ.items() if not k.startswith("FURLONG_")}
    done = subprocess.run(command, capture_output=True, text=True, cwd=os.path.dirname(folder),
                          env=env, timeout=300)
    lines = done.stderr.splitlines()
    if done.returncode != 1 or len(lines) != 1 or "No space left on device" not in lines[0]:
        print("exit code %d, stderr %r" % (done.returncode, done.stderr))
        return 1
    files = os.listdir(folder)
    whole = 0
    for name in files:
        data = open(os.path.join(folder, name), "rb").read()
        if data and not data.endswith(b"\n"):
            print("%s ends in a torn line" % name)
            return 1
        for line in data.splitlines():
            json.loads(line)
            whole += 1
    if whole < 2:
        print("only %d lines were written before the disk was full" % whole)
        return 1
    print("refused with %r; %d whole lines" % (lines[0], whole))
    return 0


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "--inside":
        return inside(sys.argv[2], sys.argv[3])
    with tempfile.TemporaryDirectory() as tmp:
        os.mkdir(tmp + "/disk")
        done = subprocess.run(["unshare", "-m", sys.executable, os.path.abspath(__file__), "--inside",
                               os.path.abspath(sys.argv[1]), tmp + "/disk"],
                              capture_output=True, text=True)
        print(done.stdout + done.stderr)
        if "unshare failed" in done.stderr or "Operation not permitted" in done.stderr:
            return 77
        return done.returncode


if __name__ == "__main__":
    sys.exit(main())
