"""Golden files: the exact converted source of typical programs, stage by stage for some, and their graphs.

    pytest tests/test_golden.py --update-golden

writes them; read the difference before you commit it.
"""
from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from programs import load
from ways import as_tensors, runtime_has

import autograph as ag
from autograph.api import STAGES

GOLDEN = Path(__file__).parent / "golden"
PROGRAMS = load()

SOURCES = (
    # branches, loops
    "absolute", "three_ways", "nested_branches", "temporary_in_branch", "none_is_tested_not", "bound_where_it_is_read",
    "deleted_in_branch", "collatz", "fibonacci", "four_deep", "unpacked_rows", "while_else", "target_after_loop",
    "loop_over_literal", "first_bound_in_loop",
    # jumps, returns
    "sum_even", "sum_until_negative", "break_and_continue", "inner_break", "break_both_loops", "prime_by_for_else",
    "else_breaks_outer", "continue_deep_in_branches", "jumps_from_try", "flag_names_of_the_user",
    "body_names_of_the_user", "sign", "return_or_fall_off", "return_from_for", "return_from_while_true",
    "return_from_nested_loops", "search", "return_from_with", "return_from_try", "return_from_finally",
    "returns_in_nested_branches", "return_from_loop_else",
    # expressions, state
    "mixed_logic", "long_chain", "chain_with_calls", "nested_ternary", "assert_with_message", "walrus_in_while",
    "none_and_isinstance", "attribute_in_branch", "dict_item_in_loop", "item_augmented", "bubble_sort",
    "global_counter", "nonlocal_in_nested", "annotated_variables",
    # functions, objects, collections, patterns, output, failures
    "late_binding", "generator_function", "decorated_inner", "function_defined_in_branch", "star_arguments",
    "class_made_in_function", "context_manager_function", "append_under_condition", "comprehension_over_range",
    "filtered_comprehension", "match_guard", "match_in_loop_with_jumps", "print_before_break", "raise_in_loop",
    "assignments_kept_before_raise",
    # whole algorithms
    "binary_search", "count_primes", "longest_run", "exponential_average",
)
STAGED = ("sum_even", "return_from_while", "chained_comparison", "search")
GRAPHS = (
    "absolute", "collatz", "sum_even", "return_from_for", "none_in_one_branch", "first_bound_in_loop",
    "guarded_division", "print_in_loop", "raise_in_branch", "append_under_condition", "rows_of_matrix", "running_mean",
    "sum_list",
)


def check(path: Path, text: str, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    elif not path.exists():
        pytest.fail(f"{path.name} is not there: run with --update-golden and read it", pytrace=False)
    assert text == path.read_text(), f"{path.name} differs: if the new text is right, run with --update-golden"


@pytest.mark.parametrize("name", SOURCES)
def test_converted_source(name: str, request: pytest.FixtureRequest) -> None:
    text = ag.to_code(PROGRAMS[name].fn)
    compile(text, name, "exec")
    check(GOLDEN / f"{name}.py.txt", text, request)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("name", STAGED)
def test_stage(name: str, stage: str, request: pytest.FixtureRequest) -> None:
    text = ag.to_code(PROGRAMS[name].fn, stage=stage)
    compile(text, name, "exec")
    check(GOLDEN / f"{name}.{stage}.py.txt", text, request)


@pytest.mark.skipif(not runtime_has("function"), reason="the runtime has no `function`")
@pytest.mark.parametrize("name", GRAPHS)
def test_graph(name: str, request: pytest.FixtureRequest) -> None:
    rt = importlib.import_module("runtime")
    program = PROGRAMS[name]
    arguments = [as_tensors(a) for a in program.arguments[0]]
    graph = rt.function(program.fn).get_concrete_function(*arguments).graph
    graph.verify()
    check(GOLDEN / f"{name}.graph.txt", f"{graph}\n", request)


def test_no_stray_golden_files() -> None:
    wanted = {f"{name}.py.txt" for name in SOURCES} | {f"{name}.graph.txt" for name in GRAPHS}
    wanted |= {f"{name}.{stage}.py.txt" for name in STAGED for stage in STAGES}
    assert {path.name for path in GOLDEN.iterdir()} <= wanted


DESIGN = {
    "collatz": '''\
def collatz(n):
    steps = 0

    def while_test():
        return n != 1

    def while_body():
        nonlocal n, steps

        def if_true():
            nonlocal n
            n = n // 2

        def if_false():
            nonlocal n
            n = 3 * n + 1
        ag__.cond(n % 2 == 0, if_true, if_false, 'n')
        steps += 1
    ag__.while_loop(while_test, while_body, 'n', 'steps')
    return steps
''',
    "sum_even": '''\
def sum_even(items):
    s = 0

    def for_body(c):
        nonlocal s

        def if_false():
            nonlocal s
            s += c
        ag__.cond(c % 2 > 0, None, if_false, 's')
    ag__.reduce(items, for_body, 's')
    return s
''',
    "sign": '''\
def sign(x):
    return_: object

    def if_true():
        nonlocal return_
        return_ = 1

    def if_false():
        nonlocal return_
        return_ = -1
    ag__.cond(x > 0, if_true, if_false, 'return_')
    return return_
''',
}


@pytest.mark.parametrize("name", DESIGN)
def test_the_design_page_is_exact(name: str) -> None:
    assert ag.to_code(PROGRAMS[name].fn) == DESIGN[name]
