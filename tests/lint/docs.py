#!/usr/bin/env python3
"""Checks the documents: links lead somewhere, commands use flags that exist, words are explained.

    docs.py --source DIR [--furlong PROGRAM]
    docs.py --self-check

Reads every *.md that git tracks in DIR (all of them where DIR is no git tree). A relative link must
name a file, and its #anchor a heading. A command in code that begins with furlong, or with a path
that ends in /furlong, may use only flags that `furlong [<subcommand>] --help` prints (checked only
where PROGRAM is there); one that begins with scripts/ only flags that the script holds.
docs/glossary.md, where it stands, defines every word of the house.
"""
import argparse
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

GLOSSARY = """op; dtype; key; cell; family; candidate; spelling; run; record; tier; ledger; hash; fresh; stale;
table; row; borrow; pin; decision; race; round; verdict; computation; configuration row; projection; trial;
observation""".replace("\n", " ").split("; ")

LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.M | re.S)


def without_code(text):
    """`text` with code blanked out, line numbers kept."""
    text = FENCE.sub(lambda match: "\n" * match.group(0).count("\n"), text)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors(text):
    """The anchors of a document's headings, as GitHub spells them."""
    found = set()
    for heading in re.findall(r"^#+[ \t]+(.*?)[ \t#]*$", FENCE.sub("", text), re.M):
        plain = re.sub(r"[`*]|\[|\]\([^)]*\)", "", heading).lower()
        found.add(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    return found


def check_links(source, path, text):
    where = path.relative_to(source)
    for match in LINK.finditer(without_code(text)):
        target, _, anchor = match.group(1).partition("#")
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        line = without_code(text).count("\n", 0, match.start()) + 1
        file = path.parent / target if target else path
        if not file.exists():
            yield "%s:%d: the link to %s leads nowhere" % (where, line, target)
        elif anchor and file.suffix == ".md" and anchor not in anchors(file.read_text()):
            yield "%s:%d: %s has no heading #%s" % (where, line, target or where, anchor)


def commands(text):
    """(line number, words) of every command in code: fenced lines, and spans."""
    for match in FENCE.finditer(text):
        first = text.count("\n", 0, match.start()) + 1
        body = match.group(0).split("\n")
        number = 1
        while number < len(body) - 1:
            line, at = body[number], first + number
            while line.endswith("\\") and number + 1 < len(body) - 1:
                number += 1
                line = line[:-1] + " " + body[number]
            number += 1
            yield from split_commands(at, line)
    blanked = FENCE.sub(lambda match: "\n" * match.group(0).count("\n"), text)
    for match in re.finditer(r"`([^`\n]+)`", blanked):
        yield from split_commands(blanked.count("\n", 0, match.start()) + 1, match.group(1))


def split_commands(number, line):
    for piece in re.split(r"&&|\|\||[;|]", line):
        piece = piece.strip()
        if piece.startswith("$ "):
            piece = piece[2:]
        try:
            words = shlex.split(piece, comments=True)
        except ValueError:
            words = piece.split()
        while words and re.match(r"[A-Za-z_]\w*=", words[0]):
            words.pop(0)
        if words:
            yield number, words


class Flags:
    """The flags that each command of a furlong program prints in its help."""

    def __init__(self, help_of):
        self.help_of = help_of  # words of a command -> its help, or None when there is no such command
        self.known = {}

    def of(self, words):
        """(flags of the deepest subcommand in words, its name)."""
        path, flags = (), set(self.get(()))
        for word in words:
            if not re.fullmatch(r"[a-z][a-z-]*", word) or self.get(path + (word,)) is None:
                break
            path += (word,)
            flags |= self.get(path)
        return flags, " ".join(("furlong",) + path)

    def get(self, path):
        if path not in self.known:
            text = self.help_of(path)
            self.known[path] = None if text is None else set(re.findall(r"--[a-z][a-z0-9-]*", text))
        return self.known[path]


def help_of_program(program):
    def ask(path):
        run = subprocess.run([str(program), *path, "--help"], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True, stdin=subprocess.DEVNULL)
        if run.returncode != 0:
            return None
        # Where a word is no subcommand, its parent may answer for it.
        above = ask(path[:-1]) if path else None
        return None if run.stdout == above else run.stdout
    return ask


def check_flags(source, path, text, flags):
    where = path.relative_to(source)
    for line, words in commands(text):
        program = words[0]
        # With `=` the value is part of the word; a flag in [brackets] is optional.
        used = [match.group(1) for word in words[1:]
                for match in [re.match(r"\[?(--[a-z][a-z0-9-]*)", word)] if match]
        if program == "furlong" or program.endswith("/furlong"):
            if flags is None:
                continue
            allowed, name = flags.of(words[1:])
            for flag in used:
                if flag not in allowed:
                    yield "%s:%d: %s has no flag %s" % (where, line, name, flag)
        elif program.startswith("scripts/"):
            script = source / program
            if script.is_dir():
                continue
            if not script.is_file():
                yield "%s:%d: there is no %s" % (where, line, program)
                continue
            allowed = set(re.findall(r"--[a-z][a-z0-9-]*", script.read_text()))
            for flag in used:
                if flag not in allowed:
                    yield "%s:%d: %s has no flag %s" % (where, line, program, flag)


def check_glossary(path, text):
    defined = {word.strip().lower() for heading in re.findall(r"^\*\*(.+?)\*\*", text, re.M)
               for word in heading.split(",")}
    for word in GLOSSARY:
        if word not in defined:
            yield "%s: does not define '%s'" % (path, word)


def documents(source):
    run = subprocess.run(["git", "-C", str(source), "ls-files", "-z", "--cached", "--others",
                          "--exclude-standard", "*.md"], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True)
    if run.returncode == 0:
        paths = [source / name for name in run.stdout.split("\0") if name]
    else:
        paths = [path for path in source.rglob("*.md") if "build" not in path.relative_to(source).parts]
    return sorted(path for path in paths if path.is_file())


def check(source, flags):
    errors = []
    for path in documents(source):
        text = path.read_text(encoding="utf-8")
        errors += check_links(source, path, text)
        errors += check_flags(source, path, text, flags)
        if path == source / "docs" / "glossary.md":
            errors += check_glossary(path.relative_to(source), text)
    return errors


def self_check():
    helps = {(): "--help --version tune", ("tune",): "--tier TEXT --plan"}
    cases = [
        ("see [a](b.md)", "leads nowhere"),
        ("see [a](a.md#nothing)", "no heading"),
        ("see [a](#nothing)", "no heading"),
        ("`furlong tune potrf --no-such-flag`", "furlong tune has no flag --no-such-flag"),
        ("```\nfurlong tune potrf \\\n    --no-such-flag\n```", "no flag"),
        ("```\ncd x && X=1 build/release/bin/furlong --plan\n```", "no flag"),
        ("`scripts/none.sh`", "there is no scripts/none.sh"),
        ("`scripts/a.sh --other`", "no flag --other"),
        ("# A b\nsee [a](a.md#a-b) and [c](https://example.org/x) and `[x](y)`", None),
        ("```\nfurlong tune x --tier preview --plan  # --not-a-flag\n[x](y)\n```", None),
        ("`scripts/a.sh --flag` in `scripts/`", None),
    ]
    failures = []
    for text, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder)
            (source / "a.md").write_text(text + "\n")
            (source / "scripts").mkdir()
            (source / "scripts" / "a.sh").write_text("# --flag\n")
            errors = check(source, Flags(helps.get))
            if expected is None and errors:
                failures.append("refused %r: %s" % (text, errors))
            if expected is not None and not any(expected in error for error in errors):
                failures.append("missed %r: %s" % (text, errors))
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder)
        (source / "docs").mkdir()
        (source / "docs" / "glossary.md").write_text("**op**: what is computed.\n")
        errors = check(source, None)
        if not any("does not define 'dtype'" in error for error in errors) or len(errors) != len(GLOSSARY) - 1:
            failures.append("missed words in the glossary: %s" % errors)
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=pathlib.Path)
    parser.add_argument("--furlong", type=pathlib.Path)
    parser.add_argument("--self-check", action="store_true")
    args = parser.parse_args()
    if args.self_check:
        errors = self_check()
    elif args.source:
        flags = None
        if args.furlong and os.access(args.furlong, os.X_OK):
            flags = Flags(help_of_program(args.furlong))
        else:
            print("skip flags of furlong: the program is not built")
        errors = check(args.source.resolve(), flags)
    else:
        parser.error("--source or --self-check is needed")
    for error in errors:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
