"""Whole files: printed and parsed again, and converted.

    python -m tests.whole_files                        the standard library and site-packages of this interpreter
    python -m tests.whole_files FOLDER ... --jobs 2    any folders and files
    python -m tests.whole_files --only printing        one of the two checks
    python -m tests.whole_files --only imports         each module of the library is imported as converted text

A line on stderr says each minute how far it is, and at which file; the slowest files stand at the end.

Of each file that parses: `printing`: its tree is printed and parsed again to an equal tree, with every comment, and a
second printing changes nothing. `conversion`: the converted text compiles, has every comment, and converts to itself.
"""
from __future__ import annotations

import argparse
import ast
import functools
import importlib.util
import io
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
import tokenize
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, TimeoutError
from pathlib import Path
from typing import NamedTuple, TypeVar

import gast

from autograph.core.deep_stack import with_room
from autograph.printing.to_code import convert_source
from autograph.printing.unparse import unparse

__all__ = ["conversion_fault", "files", "import_fault", "modules", "printing_fault", "read"]

Item = TypeVar("Item")
MINUTE = 60
IMPORT = """
import importlib, importlib.machinery, importlib.util, sys
import autograph.operators
name, path = sys.argv[1:]
with open(path, "rb") as file:
    converted = importlib.util.decode_source(file.read())
expected = importlib.import_module(name)
spec = expected.__spec__
names = set(vars(expected)) - set(sys.modules)  # a package has its submodules as attributes once they are imported

class Converted(importlib.machinery.SourceFileLoader):
    def get_code(self, name):
        return compile(converted, self.path, "exec")

    @classmethod
    def find_spec(cls, asked, path, target=None):
        return None if asked != name else importlib.util.spec_from_file_location(
            name, spec.origin, loader=cls(name, spec.origin),
            submodule_search_locations=spec.submodule_search_locations)

sys.meta_path.insert(0, Converted)
del sys.modules[name]
module = importlib.import_module(name)
missing = names - set(vars(module))
missing -= {n for n in missing if f"{name}.{n}" in sys.modules}
more = set(vars(module)) - set(vars(expected)) - {"ag__"}
if missing or more:
    sys.exit(f"names: {sorted(missing)} are missing, {sorted(more)} are new")
"""


def files(places: Iterable[str | Path]) -> Iterator[Path]:
    """The Python files in some folders, and the files among the places."""
    for place in map(Path, places):
        yield from sorted(place.rglob("*.py")) if place.is_dir() else [place]


def read(path: Path) -> str | None:
    """The text of a file; None if it is not Python that this interpreter compiles."""
    try:
        text = importlib.util.decode_source(path.read_bytes())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, str(path), "exec", dont_inherit=True)
    except (SyntaxError, UnicodeDecodeError, ValueError, LookupError):  # files that are wrong on purpose, templates
        return None
    return text


@functools.lru_cache(1)  # each check asks for those of the file last
def comments(text: str) -> Counter[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return Counter(token.string.rstrip() for token in tokens if token.type == tokenize.COMMENT)


def lost_comments(text: str, made: str) -> str:
    got, expected = comments(made), comments(text)
    lost, new = expected - got, got - expected
    return "" if expected == got else f"comments lost: {sorted(lost.elements())}, new: {sorted(new.elements())}"


def printing_fault(text: str) -> str:
    """What is wrong with the printed tree of a text; empty if nothing."""
    tree = ast.parse(text)
    dump = ast.dump(tree)
    if ast.dump(ast.parse(unparse(tree))) != dump:
        return "the printed tree is another one"
    printed = unparse(gast.ast_to_gast(tree), source=text)
    parsed = ast.parse(printed)
    if ast.dump(parsed) != dump:
        return "the tree printed with its source is another one"
    if unparse(parsed, source=printed) != printed:
        return "a second printing changes the text"
    return lost_comments(text, printed)


def conversion_fault(text: str, filename: str) -> str:
    """What is wrong with the converted text of a module; empty if nothing."""
    converted = convert_source(text, filename)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compile(converted, filename, "exec", dont_inherit=True)
    if convert_source(converted, filename) != converted:
        return "converting it again changes the text"
    return lost_comments(text, converted)


def fault(path: Path, only: str = "") -> str | None:
    """The first thing that is wrong with a file, empty if nothing; None if it is not Python."""
    text = read(path)
    if text is None:
        return None

    def check() -> str:
        found = printing_fault(text) if only in ("", "printing") else ""
        return found or (conversion_fault(text, str(path)) if only in ("", "conversion") else "")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return with_room(check)
        except Exception as error:
            return f"{type(error).__name__}: {error}"


def modules() -> Iterator[tuple[str, Path]]:
    """The modules of the standard library that have source, with their files; not its tests."""
    root = Path(sysconfig.get_path("stdlib"))
    for path in files([root]):
        parts = path.relative_to(root).with_suffix("").parts
        if not {"test", "tests", "idle_test", "site-packages", "lib2to3", "__main__"} & set(parts):
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def import_fault(name: str, path: Path, folder: Path) -> str | None:
    """What goes wrong when a module is imported as converted text, and not when it is run anew as it is; empty if
    nothing. None if it cannot be imported."""
    if subprocess.run([sys.executable, "-c", f"import {name}"], capture_output=True, timeout=60).returncode:
        return None
    made = folder / f"{name}.py"
    made.write_text(convert_source(read(path) or "", str(path)), "utf-8")
    found = _import_error(name, made)
    return "" if not found or found == _import_error(name, path) else found


def _import_error(name: str, text: Path) -> str:
    done = subprocess.run([sys.executable, "-c", IMPORT, name, str(text)], capture_output=True, text=True, timeout=60)
    return done.stderr.strip().splitlines()[-1] if done.returncode else ""


class Result(NamedTuple):
    """Of one file: the fault (empty: none; None: it was not checked), the processor time it took and its size."""

    name: str
    fault: str | None
    seconds: float
    size: int


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.whole_files", description=__doc__.splitlines()[0])
    parser.add_argument("places", nargs="*", help="files and folders (the standard library and site-packages)")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes (1)")
    parser.add_argument("--only", choices=["printing", "conversion", "imports"], default="", help="one check alone")
    options = parser.parse_args()
    started = time.perf_counter()
    if options.only == "imports":
        with tempfile.TemporaryDirectory() as folder:
            results = _results(functools.partial(_import_result, Path(folder)), list(modules()), options.jobs)
            faults = _report(results, "cannot be imported as they are")
    else:
        paths = sorted(set(files(options.places) if options.places else library()))
        results = _results(functools.partial(_result, options.only), paths, options.jobs)
        faults = _report(results, "are not Python that this version compiles")
    print(f"{time.perf_counter() - started:.0f} s")
    return 1 if faults else 0


def library() -> Iterator[Path]:
    """The files of the standard library, its tests included, and of this interpreter's site-packages."""
    root = Path(sysconfig.get_path("stdlib"))
    yield from (path for path in files([root]) if "site-packages" not in path.relative_to(root).parts)
    yield from files([sysconfig.get_path("purelib")])


def _result(only: str, path: Path) -> Result:
    started = _seconds()
    found = fault(path, only)
    return Result(str(path), found, _seconds() - started, path.stat().st_size)


def _import_result(folder: Path, module: tuple[str, Path]) -> Result:
    started = _seconds()
    found: str | None
    try:
        found = import_fault(*module, folder)
    except Exception as error:
        found = f"{type(error).__name__}: {error}"
    return Result(module[0], found, _seconds() - started, module[1].stat().st_size)


def _seconds() -> float:
    """Processor time of this process and its children."""
    return sum(os.times()[:4])


def _results(check: Callable[[Item], Result], items: Sequence[Item], jobs: int) -> Iterator[Result]:
    """What `check` says of each item, in order, from other processes."""
    started = time.monotonic()
    said = started
    with ProcessPoolExecutor(jobs) as pool:
        for number, future in enumerate([pool.submit(check, item) for item in items]):
            while True:
                try:
                    yield future.result(max(said + MINUTE - time.monotonic(), 0))
                    break
                except TimeoutError:
                    said = time.monotonic()
                    print(f"{said - started:.0f} s: {number} of {len(items)}, at {items[number]}", file=sys.stderr)
                except BrokenExecutor:
                    sys.exit(f"the process that checked {items[number]}, or one of the next {jobs}, died")


def _report(results: Iterable[Result], passed_over: str) -> int:
    checked: list[Result] = []
    wrong = others = 0
    for result in results:
        if result.fault is None:
            others += 1
            continue
        checked.append(result)
        if result.fault:
            wrong += 1
            print(f"{result.name}: {result.fault}", flush=True)
    for result in sorted(checked, key=lambda result: -result.seconds)[:10]:
        print(f"{result.seconds:.1f} s, {result.size / 1e6:.2f} MB: {result.name}")
    print(f"{len(checked)} checked, {wrong} with a fault; {others} more {passed_over}")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
