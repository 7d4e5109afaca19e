#!/usr/bin/env python3
"""Runs the golden cases of the command line, or blesses them anew.

    run.py --furlong build/release/bin/furlong [--bless] [CASE...]

A case is a file cases/<name>.txt: blocks of one command and what it prints.

    $ furlong choose demo --dtype float ...        run by bash in a fresh folder that the blocks share
    > a line of stdout
    2> a line of stderr
    ? 1                                            the exit code, where it is not 0

Other lines are comments. In commands and output, {cases} is this folder, {tmp} the fresh folder,
{source} the source tree, {shared} the shared vectors' folder and {device} this machine's device
key. A case that names {shared} is skipped, with a line that says so, where that folder is absent.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent


def blocks(text):
    """The case as a list of comments (str) and commands (dict)."""
    parts = []
    for line in text.splitlines():
        if line.startswith("$ "):
            parts.append({"command": line[2:], "out": [], "err": [], "code": 0})
        elif parts and isinstance(parts[-1], dict) and line.startswith(">"):
            parts[-1]["out"].append(line[2:])
        elif parts and isinstance(parts[-1], dict) and line.startswith("2>"):
            parts[-1]["err"].append(line[3:])
        elif parts and isinstance(parts[-1], dict) and line.startswith("? "):
            parts[-1]["code"] = int(line[2:])
        else:
            parts.append(line)
    return parts


def printed(block):
    lines = ["$ " + block["command"]]
    lines += [("> " + line).rstrip() for line in block["out"]]
    lines += [("2> " + line).rstrip() for line in block["err"]]
    if block["code"] != 0:
        lines.append("? %d" % block["code"])
    return lines


def run_case(path, furlong, names, bless):
    text = path.read_text()
    if "{shared}" in text and not os.path.isdir(names["{shared}"]):
        print("skip %s: no %s; set FURLONG_SHARED" % (path.stem, names["{shared}"]))
        return True
    with tempfile.TemporaryDirectory() as tmp:
        here = dict(names, **{"{tmp}": tmp})
        env = dict(os.environ, PATH=os.path.dirname(furlong) + os.pathsep + os.environ["PATH"],
                   XDG_DATA_HOME=tmp + "/data", LC_ALL="C")
        for name in list(env):
            if name.startswith("FURLONG_"):
                del env[name]
        got_lines = []
        commands = 0
        for part in blocks(text):
            if isinstance(part, str):
                got_lines.append(part)
                continue
            commands += 1
            command = part["command"]
            for name, value in here.items():
                command = command.replace(name, value)
            done = subprocess.run(["bash", "-c", command], cwd=tmp, env=env, text=True,
                                  capture_output=True, timeout=300, stdin=subprocess.DEVNULL)
            out, err = done.stdout, done.stderr
            for name, value in here.items():
                out, err = out.replace(value, name), err.replace(value, name)
            got = dict(part, out=out.splitlines(), err=err.splitlines(), code=done.returncode)
            got_lines += printed(got)
        if commands == 0:
            print("FAIL %s: the case runs no command" % path.stem)
            return False
    got_text = "\n".join(got_lines) + "\n"
    if bless:
        path.write_text(got_text)
        return True
    want_lines = []
    for part in blocks(text):
        want_lines += [part] if isinstance(part, str) else printed(part)
    if got_lines == want_lines:
        return True
    print("FAIL %s" % path.stem)
    import difflib
    for line in difflib.unified_diff(want_lines, got_lines, "expected", "printed", lineterm=""):
        print("  " + line)
    return False


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--furlong", required=True)
    parser.add_argument("--bless", action="store_true", help="write what is printed into the cases")
    parser.add_argument("cases", nargs="*", help="names of cases (default: all)")
    options = parser.parse_args()
    furlong = os.path.abspath(options.furlong)
    device = subprocess.run([furlong, "list", "--device"], capture_output=True, text=True,
                            check=True).stdout.strip()
    names = {
        "{cases}": str(HERE / "cases"),
        "{shared}": os.path.abspath(os.environ.get("FURLONG_SHARED") or SOURCE.parent / "shared"),
        "{source}": str(SOURCE),
        "{device}": device,
    }
    paths = sorted((HERE / "cases").glob("*.txt"))
    if options.cases:
        paths = [p for p in paths if p.stem in options.cases]
    if not paths:
        print("no case to run")
        return 1
    good = sum([run_case(path, furlong, names, options.bless) for path in paths])
    print("%d of %d cases right" % (good, len(paths)))
    return 0 if good == len(paths) else 1


if __name__ == "__main__":
    sys.exit(main())
