#!/usr/bin/env python3
"""Checks that the library neither prints nor ends the process.

    nm.py [--debug] LIBRARY...
    nm.py --self-check [--compiler CXX]

The static libraries of every floor below cli must not refer to what prints, exits or aborts: they
say things through the log sink and end with an exception. --debug allows what assert() calls.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

# Mangled names, so that no overload hides behind a demangler's spelling. A fortified libc call
# (__printf_chk) counts like the plain one.
FORBIDDEN = re.compile(
    r"^(?:"
    r"v?f?printf|v?dprintf|(?:__v?f?printf|__v?dprintf)_chk|puts|fputs|putchar|putc|fputc|perror|psignal"
    r"|fputs_unlocked|putchar_unlocked|std(?:out|err)"
    r"|_ZSt[45](?:w?cout|w?cerr|w?clog)|_ZNSt8ios_base4InitC[12]Ev"
    r"|_ZN3fmt\w*?\d+(?:v?print|vprint_\w+)E.*"
    r"|abort|exit|_exit|_Exit|quick_exit|__assert_fail|_ZN3hwy5AbortE.*"
    r")$")
ASSERT = "__assert_fail"
# Where an object must do what others may not: the child of a fork ends itself with _exit, because
# exit would run the parent's handlers.
# The headers of protobuf include <iostream>, whose start-up object prints nothing.
IOSTREAM = {"_ZNSt8ios_base4InitC1Ev", "_ZNSt8ios_base4InitD1Ev"}
ALLOWED = {
    ("furlong_host", "process.cc.o"): {"_exit"},
    ("furlong_verdict", "autotune.pb.cc.o"): IOSTREAM,
    ("furlong_verdict", "verdict.cc.o"): IOSTREAM,
    ("furlong_verdict", "verdict_file.cc.o"): IOSTREAM,
}


def undefined(library):
    """(object, symbol) of every undefined symbol of a static library."""
    output = subprocess.run(["nm", "-A", "-P", "-u", str(library)], check=True, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    for line in output.splitlines():
        match = re.match(r".*\[(.+?)\]: (\S+) [UwV]", line)
        if match:
            yield match.groups()


def check(library, debug):
    name = library.name[len("lib"):-len(".a")]
    errors = []
    seen = 0
    for member, symbol in undefined(library):
        seen += 1
        symbol = symbol.split("@")[0]
        if not FORBIDDEN.match(symbol) or symbol in ALLOWED.get((name, member), ()):
            continue
        if debug and symbol == ASSERT:
            continue
        errors.append("%s(%s): refers to %s; the library prints only through its log sink and never "
                      "exits" % (library.name, member, symbol))
    if seen == 0:
        errors.append("%s: nm shows no undefined symbol; a built static library is needed" % library)
    return errors


def self_check(compiler):
    cases = [
        ("#include <cstdio>\nvoid f(int x) { std::printf(\"%d\", x); }", True),
        ("#include <cstdio>\nvoid f(const char* x) { std::puts(x); }", True),
        ("#include <cstdio>\nvoid f(const char* x) { std::fputs(x, stderr); }", True),
        ("#include <iostream>\nvoid f(int x) { std::cout << x; }", True),
        ("#include <iostream>\nvoid f(int x) { std::cerr << x; }", True),
        ("#include <cstdlib>\nvoid f() { std::abort(); }", True),
        ("#include <cstdlib>\nvoid f(int x) { std::exit(x); }", True),
        ("#include <unistd.h>\nvoid f(int x) { _exit(x); }", True),
        ("#include <fmt/format.h>\nvoid f(int x) { fmt::print(\"{}\", x); }", True),
        ("#undef NDEBUG\n#include <cassert>\nvoid f(int x) { assert(x); }", True),
        ("#include <unistd.h>\nvoid f(const char* x) { (void)!write(2, x, 1); }", False),
        ("#include <stdexcept>\nvoid f() { throw std::runtime_error(\"no\"); }", False),
        ("void g();\nvoid f() noexcept { g(); }", False),
    ]
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "seeded.cc"
        library = pathlib.Path(folder) / "libseeded.a"
        for text, expected in cases:
            source.write_text(text + "\n")
            library.unlink(missing_ok=True)
            subprocess.run([compiler, "-std=c++20", "-O1", "-c", "seeded.cc", "-o", "seeded.cc.o"],
                           check=True, cwd=folder)
            subprocess.run(["ar", "rc", library.name, "seeded.cc.o"], check=True, cwd=folder)
            if bool(check(library, False)) != expected:
                failures.append("%s: %r" % ("missed" if expected else "refused", text))
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("libraries", nargs="*", type=pathlib.Path)
    parser.add_argument("--debug", action="store_true")
    parser.add_argument("--self-check", action="store_true")
    parser.add_argument("--compiler", default="c++")
    args = parser.parse_args()
    if args.self_check:
        errors = self_check(args.compiler)
    elif args.libraries:
        errors = [error for library in args.libraries for error in check(library, args.debug)]
    else:
        parser.error("a library or --self-check is needed")
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
