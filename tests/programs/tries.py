"""`try` around what tensors decide: handlers, what the variables hold, `else`, `finally`, jumps."""
from __future__ import annotations

import traceback

from programs import program


class Low(ValueError):
    pass


class High(ValueError):
    def __init__(self, value, limit):
        super().__init__(f"{value} is above {limit}")
        self.value, self.limit = value, limit


def check(x, limit=10):
    if x < 0:
        raise Low("low")
    if x > limit:
        raise High(x, limit)
    return x


# --- Which handler, and what it sees ---


@program((3,), (-3,), (30,))
def handler_by_class(x):
    try:
        y = check(x)
    except Low:
        y = -1
    except High:
        y = -2
    return y


@program((3,), (-3,), (30,))
def handler_of_base_class(x):
    try:
        y = check(x)
    except ValueError:
        y = -1
    return y


@program((3,), (-3,), (30,))
def handler_of_tuple(x):
    try:
        y = check(x)
    except (KeyError, Low, ZeroDivisionError):
        y = -1
    return y


@program((3,), (-3,), (30,))
def bare_handler(x):
    try:
        y = check(x)
    except:  # noqa: E722
        y = -1
    return y


@program((3,), (-3,), (30,))
def no_handler_matches(x):
    try:
        y = check(x)
    except KeyError:
        y = -1
    return y


@program((6, 3), (6, 0))
def division_in_try(a, b):
    try:
        q = a // b
    except ZeroDivisionError:
        q = 0
    return q


@program(([10, 20, 30], 1), ([10, 20, 30], 5), ([10, 20, 30], -4))
def index_in_try(xs, i):
    try:
        return xs[i]
    except IndexError:
        return -1


@program((3,), (-3,))
def assertion_in_try(x):
    try:
        assert x > 0, "not positive"
        y = 1
    except AssertionError:
        y = 2
    return y


@program((3,), (-3,))
def unbound_in_try(x):
    if x > 0:
        y = x
    try:
        z = y + 1
    except UnboundLocalError:
        z = -1
    return z


@program((4, 2), (4, 0))
def result_of_division_unused(a, b):
    try:
        a // b
        ok = 1
    except ZeroDivisionError:
        ok = 0
    return ok


@program((3,), (-3,), (30,))
def error_is_printed(x):
    try:
        check(x)
    except ValueError as error:
        print("caught:", error)
        print(f"caught: {error}", type(error).__name__)
    return x


@program((3,), (30,), (40,))
def error_has_attributes(x):
    total = 0
    try:
        check(x)
    except High as error:
        total = error.value - error.limit
    return total


@program((3,), (-3,), (-4,))
def error_has_arguments(x):
    try:
        if x < 0:
            raise KeyError(x, 7)
        y = 0
    except KeyError as error:
        y = error.args[0] * error.args[1] + len(error.args)
    return y


@program((3,), (-3,), (30,))
def classes_told_apart(x):
    try:
        check(x)
        return 0
    except ValueError as error:
        if isinstance(error, Low):
            return 1
        return 2


@program((3,), (-3,), (30,))
def reraise_after_work(x):
    count = 0
    try:
        count += 1
        check(x)
    except ValueError:
        count += 10
        print("count", count)
        raise
    return count


@program((3,), (-3,), (30,))
def reraise_by_name(x):
    try:
        try:
            check(x)
        except Low as error:
            print("inner", error)
            raise error
    except ValueError as error:
        print("outer", error)
        return -1
    return x


@program((3,), (-3,), (30,))
def another_error_from_handler(x):
    try:
        check(x)
    except High as error:
        raise KeyError("wrapped") from error
    except Low:
        raise RuntimeError("low") from None
    return x


@program((3,), (-3,), (30,))
def error_raised_in_handler_is_caught_outside(x):
    try:
        try:
            check(x)
        except Low:
            check(x + 100)
    except High as error:
        return error.value
    return x


@program((5, 0), (5, 1), (-5, 0))
def handler_raises_by_division(x, d):
    try:
        try:
            y = check(x) // d
        except Low:
            y = x // d
    except ZeroDivisionError:
        y = 100
    return y


@program((3,), (-3,))
def handler_name_used_twice(x):
    try:
        check(x)
    except Low as e:
        print(e)
    try:
        check(x + 20)
    except High as e:
        print(e)
    return x


@program((3,), (-3,))
def handler_name_is_unbound_after(x):
    error = "before"
    try:
        check(x)
    except Low as error:
        print(error)
    return error is None


@program((3,), (-3,))
def handler_of_callee(x):
    def careful(v):
        try:
            return check(v)
        except Low:
            return 0

    return careful(x) + careful(-x)


# --- What the variables hold ---


@program((3, 0), (3, 2), (-3, 2))
def assignments_before_error(x, d):
    a = b = 0
    try:
        a = 1
        b = x // d
        a = 2
        check(x)
        a = 3
    except (ZeroDivisionError, ValueError):
        b = b + a * 100
    return a, b


@program((3,), (-3,), (30,))
def computed_before_error(x):
    y, z = 0, [0, {"k": 0}]
    try:
        y = x * 2
        z = [y + 1, {"k": y * y}]
        check(x)
    except ValueError:
        y += 1
    return y, z


@program((7,), (2,), (0,))
def assignments_in_loop_before_error(n):
    seen = last = 0
    try:
        for i in range(n):
            last = i
            check(i, 4)
            seen += i
    except High:
        return seen, last, -1
    return seen, last, 0


@program((7,), (2,), (0,))
def assignments_in_while_before_error(n):
    steps = 0
    try:
        while n > 0:
            steps += 1
            n -= 1
            if steps == 4:
                raise Low("four")
    except Low:
        steps += 1000
    return steps, n


@program((2, 3), (2, 0), (-2, 3), (-2, 0))
def assignments_in_branches_before_error(x, d):
    a, b = 1, 2
    try:
        if x > 0:
            a = 10
            b = 12 // d
        else:
            b = 20
            a = 24 // d
        a += 1
    except ZeroDivisionError:
        a, b = b, a
    return a, b


@program((3, 0), (3, 2))
def assigned_in_body_alone(x, d):
    try:
        y = x
        y = x // d
    except ZeroDivisionError:
        pass
    return y


@program((3, 0), (3, 2))
def unbound_after_error(x, d):
    try:
        y = x // d
    except ZeroDivisionError:
        print("zero")
    return y


@program((3, 0), (3, 2))
def none_until_assigned(x, d):
    y = None
    try:
        y = x // d
    except ZeroDivisionError:
        print("zero")
    if y is None:
        return -1
    return y


@program((3.5, 0), (3.5, 2))
def int_becomes_float(x, d):
    y = 0
    try:
        y = x + 0.5
        print(4 // d)
        y = x - 0.5
    except ZeroDivisionError:
        y = y * 2
    return y


@program((6,), (3,))
def list_grows_until_error(n):
    out = []
    try:
        for i in range(n):
            out.append(i)
            check(i, 3)
    except High:
        out.append(-1)
    return out


@program((3, 0), (3, 2))
def list_of_text_in_try(x, d):
    log = ["start"]
    try:
        log.append("try")
        y = x // d
    except ZeroDivisionError:
        y = 0
    print(log)
    return y


class Account:
    def __init__(self, balance):
        self.balance, self.events = balance, 0

    def withdraw(self, amount):
        self.events += 1
        if amount > self.balance:
            raise High(amount, self.balance)
        self.balance -= amount


@program((10, 4), (10, 40))
def attributes_before_error(balance, amount):
    account = Account(balance)
    try:
        account.withdraw(amount)
        account.withdraw(1)
    except High:
        account.events += 100
    return account.balance, account.events


class Gate:
    def __init__(self):
        self.busy, self.table, self.log = False, {"open": 1}, [1, 2]

    def enter(self, x):
        nested = 0

        def note():
            nonlocal nested
            nested = 5
            check(x)
            nested = 0

        self.busy, self.table["open"] = True, 3
        self.log.append(x)
        try:
            note()
        except Low:
            return nested
        self.log.pop()
        self.busy, self.table["open"] = False, 1
        return nested


@program((3,), (-3,), (30,))
def restored_unless_an_error(x):
    gate = Gate()
    try:
        y = gate.enter(x)
    except ValueError:
        y = -1
    return y, gate.busy, gate.table["open"], len(gate.log)


@program((3,), (-3,), (30,))
def restored_unless_an_error_with_else_and_finally(x):
    gate = Gate()
    y = 0
    for i in range(3):
        try:
            gate.enter(x * i)
        except High:
            y += 10
        else:
            y += 1
        finally:
            y += 100 * gate.busy + gate.table["open"]
    return y, gate.busy, len(gate.log)


@program((5, 0), (5, 1))
def dict_item_before_error(x, d):
    state = {"n": 0}
    try:
        state["n"] = x
        state["n"] = x // d
    except ZeroDivisionError:
        state["n"] += 100
    return state["n"]


# --- else and finally ---


@program((3, 0), (3, 2))
def else_and_finally(x, d):
    y = 0
    try:
        q = x // d
    except ZeroDivisionError:
        q = -1
    else:
        y = 10
    finally:
        y += 1
    return q, y


@program((3, 0), (3, 2))
def error_in_else_is_not_handled(x, d):
    try:
        y = x
    except ZeroDivisionError:
        y = -1
    else:
        y = y // d
    return y


@program((3, 0, 1), (3, 1, 0), (3, 1, 1))
def error_in_else_is_handled_outside(x, a, b):
    try:
        try:
            y = x // a
        except ZeroDivisionError:
            y = -1
        else:
            y = y // b
        finally:
            print("done")
    except ZeroDivisionError:
        y = -2
    return y


@program((3,), (-3,), (30,))
def finally_runs_on_error(x):
    try:
        print("in")
        check(x)
        print("out")
    finally:
        print("finally")
    return x


@program((3,), (-3,), (30,))
def finally_sees_assignments(x):
    stage = 0
    try:
        stage = 1
        check(x)
        stage = 2
    finally:
        print("stage", stage)
    return stage


@program((3, 0), (-3, 0), (3, 1), (-3, 1))
def finally_within_handler_outside(x, d):
    n = 0
    try:
        try:
            n += 1
            check(x)
            n += 10
        finally:
            n += 100
            n += 8 // d
    except Low:
        n += 1000
    except ZeroDivisionError:
        n += 2000
    return n


@program((3,), (-3,))
def finally_around_return(x):
    try:
        return check(x)
    except Low:
        return 0
    finally:
        print("left")


@program((9,), (3,))
def finally_in_loop(n):
    total = 0
    for i in range(n):
        try:
            if i == 2:
                continue
            if i == 5:
                break
            total += check(i, 100)
        finally:
            total += 100
    return total


# --- Loops and jumps ---


@program(([4, 0, 2, 0],), ([1],), ([0, 0],))
def handler_in_loop(ds):
    s = zeros = 0
    for d in ds:
        try:
            s += 100 // d
        except ZeroDivisionError:
            zeros += 1
            continue
        s += 1
    return s, zeros


@program(([4, 2, 0, 5],), ([1, 2],), ([0, 0],))
def break_in_handler(ds):
    s = 0
    for d in ds:
        try:
            s += 100 // d
        except ZeroDivisionError:
            break
        else:
            s += 1
    else:
        s += 10000
    return s


@program(([4, 2, 0, 5],), ([1, 2],), ([0, 0],))
def return_in_handler_in_loop(ds):
    s = 0
    for d in ds:
        try:
            if d == 5:
                return -5
            s += 100 // d
        except ZeroDivisionError:
            return s
    return s + 1


@program(([3, 1, 0, 5], 2), ([1, 2], 9), ([0, 0], 1))
def retry_in_while(ds, limit):
    i = failures = 0
    while i < len(ds):
        try:
            if 12 // ds[i] > 100:
                break
        except ZeroDivisionError:
            failures += 1
            if failures > limit:
                break
        i += 1
    return i, failures


@program((3, [5, 0]), (2, [1, 2]))
def nested_loops_and_tries(n, ds):
    s = 0
    for i in range(n):
        try:
            for d in ds:
                try:
                    s += 10 // (d - i)
                except ZeroDivisionError:
                    s += 1000
                    if i == 1:
                        raise Low("one")
        except Low:
            s += 100000
    return s


@program((4,), (0,), (-1,))
def try_in_branch(x):
    y = 1
    if x >= 0:
        try:
            y = 12 // x
        except ZeroDivisionError:
            y = 99
    return y


@program((3,), (-3,), (30,))
def return_from_each_part(x):
    try:
        if x == 3:
            return check(x)
        check(x)
    except Low:
        return -1
    except High:
        return -2
    else:
        return 5


@program((3,), (-3,))
def jump_ended_by_error(x):
    for i in range(3):
        try:
            try:
                if i == 1:
                    break
            finally:
                check(x)
        except Low:
            print("caught", i)
    else:
        return -i
    return i


@program((3, 2), (0, 2), (3, 0), (0, 0))
def two_in_a_row(a, b):
    try:
        x = 12 // a
    except ZeroDivisionError:
        x = -1
    try:
        y = 12 // b + x
    except ZeroDivisionError:
        y = x
    return x, y


@program((3,), (0,))
def try_in_comprehension_callee(n):
    def inverse(d):
        try:
            return 12 // d
        except ZeroDivisionError:
            return 0

    return [inverse(n - i) for i in range(4)]


@program((3, 4), (0, 4))
def condition_raises(a, b):
    try:
        if b // a > 0 and b > 1:
            y = 1
        else:
            y = 2
    except ZeroDivisionError:
        y = 3
    return y


@program((3,), (-3,), (30,))
def raised_again_and_caught_in_handler(x):
    try:
        check(x)
    except (Low, High):
        try:
            try:
                raise
            finally:
                print("again")
        except Low:
            return -1
        return -2
    return x


@program((3,), (-3,), (-30,))
def system_error_in_handler(x):
    try:
        if x < 0:
            raise FileNotFoundError(2, "no such file")
        y = 0
    except OSError as error:
        print(error)
        y = error.errno
    return y


@program((3,), (0,))
def traceback_in_a_handler(x):
    def fails(x):
        raise ValueError

    try:
        x += 1
        fails(x)
    except ValueError as error:
        names = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
        if x > 2:
            x = -x
    return x, [name for name in names if name == "fails"], [name.isidentifier() for name in names], len(names)


class Tally:
    pass


@program((3,), (1,))
def keys_and_attributes_made_by_handlers(n):
    counts, account = {}, Tally()
    for i in range(n):
        try:
            counts["n"] += i
        except KeyError:
            counts["n"] = 10
        try:
            account.total += i
        except AttributeError:
            account.total = 20
    return counts["n"], account.total


@program((3,), (2,), (0,))
def caught_outside_with_a_cause(n):
    try:
        try:
            if n > 2:
                raise KeyError("key")
            if n > 1:
                raise IndexError("index")
        except KeyError as error:
            raise ValueError("value") from error
        return 0
    except LookupError:
        return 1
    except ValueError as error:
        print(error)
        return 2


@program((1,), (2,), (4,))
def finally_replaces_rows_in_a_loop(n):
    rows = [[1, 2], [4, 5], [7, 8]]
    try:
        rows[2][0] = 10 // (n - 2)
    finally:
        for i in range(n):
            rows[n % 3] = [n, i]
        n += 1
    return rows, n


@program((3,), (0,))
def what_an_error_was_raised_from(n):
    try:
        try:
            if n > 2:
                raise KeyError("key")
        except KeyError as error:
            raise ValueError("value") from error
    except ValueError as error:
        cause, context = error.__cause__, error.__context__
        return type(cause).__name__, cause.args, context is cause, error.__suppress_context__
    return None


@program((3,), (0,))
def what_an_error_was_raised_after(n):
    try:
        try:
            if n > 2:
                raise KeyError("key")
        except KeyError as error:
            n += len(error.args)
            raise ValueError("value")
    except ValueError as error:
        return n, type(error.__context__).__name__, error.__cause__, error.__suppress_context__
    return None
