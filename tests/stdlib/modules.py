"""Which modules of the standard library are converted, and which of CPython's tests are theirs."""
from __future__ import annotations

import importlib.util
import sys
from typing import NamedTuple

__all__ = [
    "INHERENT", "LONG", "MODULES", "OF_FRAMES", "PROOFS", "RECURSIVE", "SELECTION", "UNMEASURED", "Subject",
    "has_tests", "is_measured", "reason", "subjects",
]


class Subject(NamedTuple):
    """Modules that are converted together, and the tests to run on them."""

    name: str
    targets: tuple[str, ...]
    """What is converted; packages count with all modules below them."""
    tests: tuple[str, ...]
    """Modules of unittest, or a class or a method of one."""
    without: tuple[str, ...] = ()
    """Methods of tests that do not run."""


# The module to convert, and CPython's tests for it, below the package `test` but for those of unittest.
# What an interpreter does not have is left out.
_TABLE = """
_pydecimal          test_decimal
abc                 test_abc
argparse            test_argparse
ast                 test_ast test_ast.test_ast test_unparse
asyncio             test_asyncio.test_base_events test_asyncio.test_events test_asyncio.test_futures
                    test_asyncio.test_locks test_asyncio.test_queues test_asyncio.test_runners
                    test_asyncio.test_streams test_asyncio.test_taskgroups test_asyncio.test_tasks
                    test_asyncio.test_timeouts
base64              test_base64
bdb                 test_bdb
bisect              test_bisect
bz2                 test_bz2
calendar            test_calendar
cmd                 test_cmd
code                test_code_module
codecs              test_codecs
codeop              test_codeop
collections         test_collections test_ordered_dict test_userdict test_userlist test_userstring
                    test_defaultdict
colorsys            test_colorsys
concurrent.futures  test_concurrent_futures.test_thread_pool test_concurrent_futures.test_future
configparser        test_configparser
contextlib          test_contextlib test_contextlib_async
copy                test_copy
copyreg             test_copyreg
csv                 test_csv
ctypes              test_ctypes
dataclasses         test_dataclasses
datetime            test_datetime
dbm                 test_dbm test_dbm_dumb
difflib             test_difflib
dis                 test_dis
doctest             test_doctest test_doctest2
email               test_email.test__encoded_words test_email.test__header_value_parser
                    test_email.test_contentmanager test_email.test_defect_handling test_email.test_email
                    test_email.test_generator test_email.test_headerregistry test_email.test_inversion
                    test_email.test_message test_email.test_parser test_email.test_pickleable
                    test_email.test_policy test_email.test_utils
enum                test_enum
filecmp             test_filecmp
fileinput           test_fileinput
fnmatch             test_fnmatch
fractions           test_fractions
ftplib              test_ftplib
functools           test_functools
genericpath         test_genericpath
getopt              test_getopt
gettext             test_gettext
glob                test_glob
graphlib            test_graphlib
gzip                test_gzip
hashlib             test_hashlib
heapq               test_heapq
hmac                test_hmac
html                test_html test_htmlparser
http                test_httplib test_http_cookies test_http_cookiejar test_httpservers
imaplib             test_imaplib
inspect             test_inspect test_inspect.test_inspect
io                  test_io
ipaddress           test_ipaddress
json                test_json.test_decode test_json.test_default test_json.test_dump
                    test_json.test_encode_basestring_ascii test_json.test_enum test_json.test_fail
                    test_json.test_float test_json.test_indent test_json.test_pass1 test_json.test_pass2
                    test_json.test_pass3 test_json.test_scanstring test_json.test_separators
                    test_json.test_speedups test_json.test_tool test_json.test_unicode
keyword             test_keyword
linecache           test_linecache
locale              test_locale
logging             test_logging
lzma                test_lzma
mailbox             test_mailbox
mimetypes           test_mimetypes
netrc               test_netrc
ntpath              test_ntpath
numbers             test_abstract_numbers test_numeric_tower
opcode              test__opcode
operator            test_operator
optparse            test_optparse
os                  test_os
pathlib             test_pathlib test_pathlib.test_pathlib
pdb                 test_pdb
pickle              test_pickle
pickletools         test_pickletools
pkgutil             test_pkgutil
platform            test_platform
plistlib            test_plistlib
poplib              test_poplib
posixpath           test_posixpath
pprint              test_pprint
pstats              test_pstats
pyclbr              test_pyclbr
pydoc               test_pydoc test_pydoc.test_pydoc
queue               test_queue
quopri              test_quopri
random              test_random
re                  test_re
reprlib             test_reprlib
sched               test_sched
secrets             test_secrets
selectors           test_selectors
shelve              test_shelve
shlex               test_shlex
shutil              test_shutil
smtplib             test_smtplib
socketserver        test_socketserver
sqlite3             test_sqlite3.test_dbapi test_sqlite3.test_dump test_sqlite3.test_factory
ssl                 test_ssl
stat                test_stat
statistics          test_statistics
string              test_string
stringprep          test_stringprep
subprocess          test_subprocess
symtable            test_symtable
tabnanny            test_tabnanny
tarfile             test_tarfile
tempfile            test_tempfile
textwrap            test_textwrap
threading           test_threading test_threading_local
timeit              test_timeit
tokenize            test_tokenize
tomllib             test_tomllib.test_data test_tomllib.test_error test_tomllib.test_misc
trace               test_trace
traceback           test_traceback
tracemalloc         test_tracemalloc
types               test_types
typing              test_typing test_genericalias
unittest            unittest.test.test_assertions unittest.test.test_async_case unittest.test.test_break
                    unittest.test.test_case unittest.test.test_discovery unittest.test.test_functiontestcase
                    unittest.test.test_loader unittest.test.test_program unittest.test.test_result
                    unittest.test.test_runner unittest.test.test_setups unittest.test.test_skipping
                    unittest.test.test_suite unittest.test.testmock.testhelpers
                    unittest.test.testmock.testmagicmethods unittest.test.testmock.testmock
                    unittest.test.testmock.testpatch
urllib              test_urlparse test_urllib test_urllib2 test_urllib_response test_robotparser
uuid                test_uuid
warnings            test_warnings
wave                test_wave
weakref             test_weakref test_weakset
wsgiref             test_wsgiref
xml                 test_xml_etree test_minidom test_sax test_pulldom
xmlrpc              test_xmlrpc
zipapp              test_zipapp
zipfile             test_zipfile test_zipfile.test_core test_zipfile.test_path
zoneinfo            test_zoneinfo test_zoneinfo.test_zoneinfo
"""
_TARGETS = {
    "collections": ("collections", "_collections_abc"),
    "weakref": ("weakref", "_weakrefset"),
    "threading": ("threading", "_threading_local"),
    "abc": ("abc", "_py_abc"),
    "io": ("io", "_pyio"),
    "datetime": ("datetime", "_pydatetime", "_strptime"),
}
"""Where the Python code that the tests test is in other modules, too."""


def _subjects_of(table: str) -> list[Subject]:
    rows = [row.split() for row in table.strip().replace("\n ", " ").splitlines()]
    return [
        Subject(name, _TARGETS.get(name, (name,)), tuple(
            test if test.startswith("unittest.") else f"test.{test}" for test in tests))
        for name, *tests in rows
    ]


MODULES = _subjects_of(_TABLE)
INHERENT = {
    "test.test_dis.BytecodeTests.test_info": "bytecode",
    "test.test_dis.CodeInfoTests.test_code_info": "bytecode",
    "test.test_dis.CodeInfoTests.test_show_code": "bytecode",
}
"""Tests that no converter of source can keep, and the one of the PROOFS that says why. Each of them has to differ: one
that does not is no longer to be listed."""
OF_FRAMES = {
    **{f"test.test_doctest.{where}test_{name}": "frames" for where in ("", "test_doctest.") for name in (
        "DocFileSuite", "testfile", "unittest_reportflags")},
    **{f"test.{name}": "depth" for name in (
        "test_tomllib.test_misc.TestMiscellaneous.test_inline_array_recursion_limit",
        "test_tomllib.test_misc.TestMiscellaneous.test_inline_table_recursion_limit",
        "test_typing.ForwardRefTests.test_forward_recursion_actually",
        "test_userdict.UserDictTest.test_repr_deep", "test_userlist.UserListTest.test_repr_deep",
        "test_plistlib.TestBinaryPlistlib.test_deep_nesting")},
}
"""Tests that may differ where the converted form runs, and which of the PROOFS says why. Outside of a trace the
original runs, and none differs."""


def reason(test: str) -> str | None:
    """Why a test may differ, if it is listed."""
    name, _, _ = test.partition(" ")
    while name:
        found = INHERENT.get(name) or OF_FRAMES.get(name)
        if found is not None:
            return found
        name = name.rpartition(".")[0]
    return None


PROOFS = {
    "bytecode": """\
The tests print the names and constants in the code object of `dis.code_info` and compare them with a text.
`dis.code_info` has the form

    def f(x):
        return g(x)

and the tests require that `f.__code__.co_names` is `('g',)`. A function whose code object is unchanged calls the
unconverted `g`, which cannot stage `if x > 0`. So either the code object differs, which the test sees, or the callee
does not convert. (Replacing the code of `g` for all its callers moves the difference to a test that prints `g`.)
""",
    "frames": """\
The tests look for files beside the module that called `doctest.DocFileSuite` or `doctest.testfile`. Its helper calls
`locals()`, and such a function is not converted, since its variables have to stay in one frame. So its
`sys._getframe(2)` counts the frames of the operators and bodies that lead to it. (In converted code `sys._getframe`,
`f_back`, `sys.settrace` and the `stacklevel` of `warnings.warn` know only the user's frames, and tracebacks show only
these.)
""",
    "depth": """\
The tests recurse to just below the recursion limit, or leave 25 frames below it, and each converted statement takes
two to five more frames, those of a chain of `elif` for each link. (The last four of them differ in Python 3.13.)
""",
}
_STACK = """pdb sets a trace function while functions of doctest run, and doctest then sets coverage's again: by then
coverage has missed returns, takes another function's frame for the one that runs, and finds arcs that no code has"""
_SIGNAL = """in CPython 3.11, a thread that is traced and calls a function while a signal waits for the main thread
begins that call again and again, and the main thread may be waiting for this thread"""
UNMEASURED = {
    "test_pdb_set_trace": _STACK,
    "test_pdb_set_trace_nested": _STACK,
    "test_get_event_loop_new_process": _SIGNAL,
}
"""Tests, by their own names, that run without coverage, as it is wrong about them in the original, too: why."""
SELECTION = (
    "bdb", "bisect", "configparser", "contextlib", "copy", "csv", "dataclasses", "dis", "enum", "fractions",
    "functools", "gettext", "graphlib", "inspect", "ipaddress", "string", "tomllib", "trace", "traceback",
    "tracemalloc", "types",
)
"""Modules for every run of the test suite: seconds in all, and every kind of statement among them."""
LONG = (
    "test_big_linenos", "test_big_offsets", "test_coverage_ignore", "test_dominating_multiline_values",
    "test_encoded_file", "test_env_limit", "test_exception_group_depth_limit", "test_failures", "test_heapify",
    "test_long_context_chain", "test_merge_stability", "test_sys_xoptions",
)
"""Tests of these modules that take half of their time, which the test suite leaves out: many rounds of the same, and
processes of their own."""
RECURSIVE = ("bdb", "contextlib", "heapq", "linecache", "shlex", "textwrap", "trace", "traceback")
"""Those of which all that they call is converted, too."""


def is_measured(test: str) -> bool:
    """Whether the lines that a test runs are compared: not those of tests that do something else converted."""
    return reason(test) is None and test.rpartition(".")[2] not in UNMEASURED


def has_tests() -> bool:
    """Whether CPython's tests are installed (some distributions leave the package `test` out)."""
    return importlib.util.find_spec("test") is not None and _exists("test.test_heapq")


def _exists(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False


def subjects(names: tuple[str, ...] = ()) -> list[Subject]:
    """The subjects of these names, or all, with what this interpreter has: its modules, its tests."""
    chosen = [m for m in MODULES if not names or m.name in names]
    unknown = set(names) - {m.name for m in chosen}
    if unknown:
        raise LookupError(f"no tests are known for {', '.join(sorted(unknown))}")
    found = []
    for subject in chosen:
        tests = list(subject.tests)
        if sys.version_info >= (3, 12):  # the tests of unittest have moved
            tests = [t.replace("unittest.test.", "test.test_unittest.") for t in tests]
        tests = [t for t in tests if _exists(t)]
        tests = [t for t in tests if not any(other.startswith(f"{t}.") for other in tests)]
        if tests and _exists(subject.name):
            found.append(Subject(subject.name, tuple(filter(_exists, subject.targets)), tuple(tests)))
    return found
