#!/usr/bin/env python3
"""Checks that every public header compiles alone, and twice, without a warning.

    headers.py --include DIR [--compilers g++,clang++]
    headers.py --self-check [--compilers ...]

A compiler that is not installed is left out, with a line that says so; one at least must be there.
A header ending in .h is compiled as C too.
"""
import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

FLAGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror", "-fsyntax-only"]


def compile_alone(job):
    compiler, language, standard, include, name = job
    text = '#include "furlong/%s"\n' % name * 2
    run = subprocess.run([compiler, *FLAGS, "-std=" + standard, "-I", str(include), "-x", language, "-"],
                         input=text, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if run.returncode == 0:
        return None
    return "furlong/%s does not compile alone as %s with %s:\n%s" % (name, language, compiler, run.stdout)


def check(include, compilers):
    names = sorted(path.name for path in (include / "furlong").glob("*.h*"))
    if not names:
        return ["%s/furlong: no header" % include]
    jobs = []
    for compiler in compilers:
        jobs += [(compiler, "c++", "c++20", include, name) for name in names]
        jobs += [(compiler, "c", "c11", include, name) for name in names if name.endswith(".h")]
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return [error for error in pool.map(compile_alone, jobs) if error]


def self_check(compilers):
    cases = [
        ("lacks.hh", "#pragma once\ninline std::string f() { return {}; }\n", True),
        ("warns.hh", "#pragma once\ninline int f(long long x) { return x; }\n", True),
        ("twice.hh", "struct Twice {};\n", True),
        ("only_cxx.h", "#pragma once\n#include <string>\n", True),
        ("good.hh", "#pragma once\n#include <string>\ninline std::string f() { return {}; }\n", False),
        ("good.h", "#pragma once\nint f(int x);\n", False),
    ]
    failures = []
    for name, text, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "furlong" / name
            path.parent.mkdir()
            path.write_text(text)
            for compiler in compilers:
                if bool(check(pathlib.Path(folder), [compiler])) != expected:
                    failures.append("%s: %s %s" % (compiler, "missed" if expected else "refused", name))
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--include", type=pathlib.Path)
    parser.add_argument("--compilers", default="g++,clang++")
    parser.add_argument("--self-check", action="store_true")
    args = parser.parse_args()
    compilers = []
    for compiler in args.compilers.split(","):
        if shutil.which(compiler):
            compilers.append(compiler)
        else:
            print("skip %s: not installed" % compiler)
    if not compilers:
        errors = ["no compiler; one of %s is needed" % args.compilers]
    elif args.self_check:
        errors = self_check(compilers)
    elif args.include:
        errors = check(args.include.resolve(), compilers)
    else:
        parser.error("--include or --self-check is needed")
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
