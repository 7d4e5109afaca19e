#!/usr/bin/env python3
"""What is derived depends on the ledger and the sources alone.

    independence.py --furlong FURLONG [--other FURLONG]

Derives the project's tables and hashes under other locales, time zones, umasks, host names, working
folders, core counts, and, with --other, with another compiler's program: every byte must be equal.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def derive(furlong, out, prefix=(), env=None, umask=None, cwd=None):
    """Tables, self-test and hashes as {name: bytes}."""
    out.mkdir()
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("FURLONG_", "LC_"))}
    environment.update(env or {})

    def run(*arguments):
        def prepare():
            if umask is not None:
                os.umask(umask)
        done = subprocess.run([*prefix, furlong, *arguments], env=environment, cwd=cwd or ROOT,
                              preexec_fn=prepare, capture_output=True, timeout=120)
        if done.returncode != 0:
            raise SystemExit("%s: exit code %d\n%s" % (arguments, done.returncode,
                                                       done.stderr.decode(errors="replace")))
        return done.stdout

    run("table", "--project", str(ROOT), "--out", str(out))
    derived = {path.name: path.read_bytes() for path in sorted(out.iterdir())}
    if not derived or any(b"\ndtype=" not in text for text in derived.values()):
        raise SystemExit("a table without rows proves nothing: %s" % sorted(derived))
    derived["self-test"] = run("table", "--self-test")
    derived["hash"] = run("hash", "potrf", "--project", str(ROOT), "--json")
    derived["status"] = run("status", "--project", str(ROOT), "--json")
    return derived


def can(prefix):
    try:
        return subprocess.run([*prefix, "true"], capture_output=True).returncode == 0
    except OSError:
        return False


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--furlong", required=True)
    parser.add_argument("--other")
    options = parser.parse_args()
    furlong = os.path.abspath(options.furlong)
    variants = {
        "locale": {"env": {"LC_ALL": "de_DE.UTF-8", "LANG": "tr_TR.UTF-8"}},
        "time zone": {"env": {"TZ": "XYZ-13:45"}},
        "umask 077": {"umask": 0o077},
        "umask 0": {"umask": 0},
        "user": {"env": {"HOME": "/nowhere", "USER": "somebody", "HOSTNAME": "elsewhere"}},
        "folder": {"cwd": "/"},
    }
    if shutil.which("taskset"):
        core = min(os.sched_getaffinity(0))
        variants["one core"] = {"prefix": ("taskset", "-c", str(core))}
    host = ("unshare", "--uts", "sh", "-c", 'hostname elsewhere && exec "$@"', "sh")
    if can(host):
        variants["host name"] = {"prefix": host}
    else:
        print("skipped: the host name cannot be changed here")
    if options.other:
        variants["compiler"] = {"furlong": os.path.abspath(options.other)}
    with tempfile.TemporaryDirectory() as tmp:
        base = derive(furlong, pathlib.Path(tmp) / "base")
        for number, (name, variant) in enumerate(variants.items()):
            variant = {"furlong": furlong, **variant}
            other = derive(out=pathlib.Path(tmp) / str(number), **variant)
            differing = [key for key in base.keys() | other.keys() if base.get(key) != other.get(key)]
            if differing:
                print("%s: %s differ" % (name, ", ".join(sorted(differing))))
                return 1
    print("equal under: %s" % ", ".join(variants))
    return 0


if __name__ == "__main__":
    sys.exit(main())
