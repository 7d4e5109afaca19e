#!/usr/bin/env python3
"""Checks that a program that only calls tuned ops contains and loads no tool.

    lean.py PROGRAM
    lean.py --self-check [--compiler CXX]

Neither symbols of our tool parts (host, ledger, race, tune, report, cli) nor of JSON, git, protobuf
or OpenCL may be in it, nor a library of theirs be asked for at load time.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

SYMBOLS = re.compile(r"\b(furlong::(?:host|ledger|race|tune|report|cli)::|simdjson::|nlohmann::|CLI::"
                     r"|google::protobuf::|git_\w+\(?|git_libgit2_init|toml::)")
LIBRARIES = re.compile(r"lib(?:simdjson|git2|protobuf|OpenCL|crypto|ssl|z|tomlplusplus)\.so")


def output(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def check(program):
    errors = []
    symbols = output("nm", "-C", str(program)).splitlines()
    if not symbols:
        errors.append("%s: stripped; its symbols are needed" % program)
    for symbol in symbols:
        match = SYMBOLS.search(symbol)
        if match:
            errors.append("%s holds %s" % (program.name, symbol.strip()))
    # Only what it asks for itself: what a shared library drags in is that library's affair.
    for line in output("objdump", "-p", str(program)).splitlines():
        if "NEEDED" in line and LIBRARIES.search(line):
            errors.append("%s loads %s" % (program.name, line.split()[-1]))
    return errors


def self_check(compiler):
    cases = [
        ("namespace furlong::ledger { int f() { return 0; } }\nint main() { return furlong::ledger::f(); }",
         [], True),
        ("namespace simdjson { int f() { return 0; } }\nint main() { return simdjson::f(); }", [], True),
        ("#include <zlib.h>\nint main() { return zlibVersion() == nullptr; }", ["-lz"], True),
        ("namespace furlong::select { int f() { return 0; } }\nint main() { return furlong::select::f(); }",
         [], False),
    ]
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder) / "seeded.cc", pathlib.Path(folder) / "seeded"
        for text, links, expected in cases:
            source.write_text(text + "\n")
            subprocess.run([compiler, "-std=c++20", "-O0", str(source), "-o", str(program), *links],
                           check=True)
            if bool(check(program)) != expected:
                failures.append("%s: %r" % ("missed" if expected else "refused", text))
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", nargs="?", type=pathlib.Path)
    parser.add_argument("--self-check", action="store_true")
    parser.add_argument("--compiler", default="c++")
    args = parser.parse_args()
    if args.self_check:
        errors = self_check(args.compiler)
    elif args.program:
        errors = check(args.program)
    else:
        parser.error("a program or --self-check is needed")
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
