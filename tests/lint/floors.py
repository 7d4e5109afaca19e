#!/usr/bin/env python3
"""Checks the floors: who includes whom, and who links whom.

    floors.py --source DIR [--links FILE]
    floors.py --self-check

A part includes and links only parts below it; siblings never meet; host is for ledger and above;
what calls a tuned op reaches no tool. FILE holds what CMake links, one line a target:
`part: direct link, direct link, ...`.
"""
import argparse
import pathlib
import re
import sys
import tempfile

# The parts, with their floor; a part may use every part of a lower floor.
FLOORS = {
    "base": 0, "host": 0.5,
    "vocabulary": 1,
    "table": 2, "ledger": 2, "config": 2,
    "select": 3, "verdict": 3,
    "race": 4,
    "blas": 5, "jit": 5,
    "tune": 6,
    "report": 7,
    "cli": 8,
    "apps": 9,
}
# What a program that only calls tuned ops is made of: these parts use nothing else of ours.
CALLS = {"base", "vocabulary", "table", "select", "blas"}
# Third-party code that a program that only calls tuned ops must not need.
TOOL_HEADERS = ("CLI/", "nlohmann/", "simdjson", "git2", "openssl/", "zlib", "libdeflate", "toml++/", "google/")
TOOL_LINKS = ("nlohmann", "simdjson", "git2", "OpenSSL", "ZLIB", "LIBDEFLATE", "protobuf", "OpenCL", "CLI11")

# The floor part that each public header belongs to.
PUBLIC = {
    "error.hh": "base", "log.hh": "base", "result.hh": "base", "version.hh": "base",
    "axis.hh": "vocabulary", "cell_key.hh": "vocabulary", "device_key.hh": "vocabulary",
    "dtype.hh": "vocabulary", "kernel_hashes.hh": "vocabulary", "key_spec.hh": "vocabulary",
    "spelling.hh": "vocabulary", "tier.hh": "vocabulary",
    "table.hh": "table",
    "op_spec.hh": "select", "select.hh": "select",
    "blas.h": "blas", "blas.hh": "blas",
    "cli.hh": "cli",
}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.M)


def is_test(path):
    return path.name.endswith("_test.cc")


def is_tool_side(path):
    """spec files tell a tuner about an op; they are linked by tuners only."""
    return path.name in ("spec.cc", "specs.hh")


def refusal(user, used, calls_only):
    """Why part `user` may not use part `used`; None when it may."""
    if user == used:
        return None
    if used not in FLOORS:
        return "there is no part %s; the parts are: %s" % (used, ", ".join(FLOORS))
    if calls_only and used not in CALLS:
        return "what calls a tuned op uses only: " + ", ".join(sorted(CALLS))
    if FLOORS[used] >= FLOORS[user]:
        return "%s is not below %s" % (used, user)
    if used == "host" and FLOORS[user] < 2:
        return "host is for ledger and above"
    return None


def part_of_include(text):
    """The part a quoted include names; None for a system one, "" for a public header unknown here."""
    folder, _, name = text.partition("/")
    if folder == "furlong":
        return PUBLIC.get(name, "")
    return folder


def check_file(path, part, relative, errors):
    text = path.read_text(encoding="utf-8", errors="replace")
    public = relative.startswith("include/")
    calls_only = part in CALLS and not is_test(path) and not is_tool_side(path)
    for match in INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start(0)) + 1
        where = "%s:%d" % (relative, line)
        quoted, system = match.groups()
        if system is not None:
            if calls_only and system.startswith(TOOL_HEADERS):
                errors.append("%s: <%s>; %s is part of programs that only call" % (where, system, part))
            if system.startswith("CLI/") and part != "cli":
                errors.append("%s: <%s>; only src/cli includes it" % (where, system))
            if part == "base" and "/" in system and not system.startswith(("fmt/", "sys/")) \
                    and not is_test(path):
                errors.append("%s: <%s>; base depends on fmt alone" % (where, system))
            if public and "/" in system:
                errors.append("%s: <%s>; a public header shows no third-party type" % (where, system))
            continue
        if quoted.startswith("hwy/") or (is_test(path) and quoted.startswith("support/")):
            continue
        if "/" not in quoted:
            errors.append('%s: "%s"; write "furlong/x.hh" or "<part>/x.hh"' % (where, quoted))
            continue
        used = part_of_include(quoted)
        if used == "":
            errors.append('%s: "%s"; tests/lint/floors.py does not say which part it belongs to'
                          % (where, quoted))
            continue
        if public and not quoted.startswith("furlong/"):
            errors.append('%s: "%s"; a public header includes public headers only' % (where, quoted))
            continue
        reason = refusal(part, used, calls_only)
        if reason:
            errors.append('%s: "%s"; %s' % (where, quoted, reason))


def check_includes(source):
    errors = []
    files = 0
    for top in ("src", "include", "apps"):
        for path in sorted((source / top).rglob("*")):
            if path.suffix not in (".cc", ".hh", ".h"):
                continue
            files += 1
            relative = path.relative_to(source).as_posix()
            pieces = relative.split("/")
            if top == "include":
                part = PUBLIC.get(pieces[-1])
                if part is None:
                    errors.append("%s:1: no part; say in tests/lint/floors.py which one it belongs to"
                                  % relative)
                    continue
            else:
                part = pieces[1] if top == "src" else "apps"
            if part not in FLOORS:
                errors.append("%s:1: no part %s; the parts are: %s" % (relative, part, ", ".join(FLOORS)))
                continue
            check_file(path, part, relative, errors)
    if files == 0:
        errors.append("%s: no sources; --source names the tree" % source)
    return errors


def check_links(text):
    """`text` as --links holds it."""
    links = {}
    for line in text.splitlines():
        target, _, rest = line.partition(":")
        # Generator expressions that say where a link counts do not change who is linked.
        rest = re.sub(r"\$<(BUILD_INTERFACE|LINK_ONLY):([^>]*)>", r"\2", rest)
        links[target.strip()] = [name.strip() for name in rest.split(",") if name.strip()]

    def ours(name):
        match = re.match(r"furlong(?:::|_)(\w+)$", name)
        return match.group(1) if match and match.group(1) != "options" else None

    errors = []
    for target, names in sorted(links.items()):
        part = target[:-len("_spec")] if target.endswith("_spec") else target
        calls_only = target in CALLS
        for name in names:
            used = ours(name)
            if used is None:
                if calls_only and any(word in name for word in TOOL_LINKS):
                    errors.append("furlong_%s links %s; it is part of programs that only call"
                                  % (target, name))
                continue
            reason = refusal(part, used, calls_only)
            if reason:
                errors.append("furlong_%s links furlong_%s; %s" % (target, used, reason))
    if not links:
        errors.append("no target in the list of links")
    return errors


def self_check():
    seeded = [
        ("src/base/a.cc", '#include "vocabulary/b.hh"\n', "vocabulary is not below base"),
        ("src/table/a.cc", '#include "ledger/b.hh"\n', "what calls a tuned op"),
        ("src/ledger/a.cc", '  #  include "table/b.hh"\n', "table is not below ledger"),
        ("src/vocabulary/a.cc", '#include "host/b.hh"\n', "what calls a tuned op"),
        ("src/select/a.cc", '#include "host/b.hh"\n', "what calls a tuned op"),
        ("src/blas/op/a.cc", '#include "race/b.hh"\n', "what calls a tuned op"),
        ("src/blas/op/a.cc", "#include <nlohmann/json.hpp>\n", "programs that only call"),
        ("src/race/a.cc", '#include "tune/b.hh"\n', "tune is not below race"),
        ("src/race/a_test.cc", '#include "tune/b.hh"\n', "tune is not below race"),
        ("src/tune/a.cc", "#include <CLI/CLI.hpp>\n", "only src/cli"),
        ("src/tune/a.cc", '#include "b.hh"\n', "write"),
        ("src/base/a.cc", "#include <nlohmann/json.hpp>\n", "fmt alone"),
        ("src/ledger/a.cc", '#include "furlong/select.hh"\n', "select is not below ledger"),
        ("include/furlong/error.hh", '#include "furlong/table.hh"\n', "table is not below base"),
        ("include/furlong/error.hh", "#include <fmt/format.h>\n", "third-party"),
        ("include/furlong/unheard_of.hh", "\n", "which one it belongs to"),
        ("src/unheard_of/a.cc", "\n", "no part"),
    ]
    allowed = [
        ("src/tune/a.cc", '#include "ledger/b.hh"\n#include <fmt/format.h>\n'),
        ("src/blas/op/spec.cc", '#include "furlong/op_spec.hh"\n'),
        ("src/table/a_test.cc", '#include "support/shared.hh"\n#include <nlohmann/json.hpp>\n'),
        ("apps/x/main.cc", '#include "blas/specs.hh"\n#include "furlong/cli.hh"\n'),
        ("src/table/a.cc", 'auto text = "#include \\"ledger/b.hh\\"\\n";\n'),
    ]
    failures = []
    for relative, text, expected in seeded + [case + (None,) for case in allowed]:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / relative
            path.parent.mkdir(parents=True)
            path.write_text(text)
            errors = check_includes(pathlib.Path(folder))
            if expected is None and errors:
                failures.append("refused %s: %s" % (relative, errors))
            if expected is not None and not any(expected in error for error in errors):
                failures.append("missed %r in %s: %s" % (text, relative, errors))
    for text, expected in [
            ("blas: furlong::select, simdjson::simdjson\n", "only call"),
            ("blas: furlong::race\n", "what calls a tuned op"),
            ("race: furlong_tune\n", "not below"),
            ("select: $<LINK_ONLY:furlong::host>\n", "what calls a tuned op"),
            ("", "no target")]:
        if not any(expected in error for error in check_links(text)):
            failures.append("missed %r in the links" % text)
    if check_links("blas: furlong::select, $<BUILD_INTERFACE:furlong_options>, fmt::fmt\n"):
        failures.append("refused links that are allowed")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=pathlib.Path)
    parser.add_argument("--links", type=pathlib.Path)
    parser.add_argument("--self-check", action="store_true")
    args = parser.parse_args()
    if args.self_check:
        errors = self_check()
    elif args.source:
        errors = check_includes(args.source)
        if args.links:
            errors += check_links(args.links.read_text())
    else:
        parser.error("--source or --self-check is needed")
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
