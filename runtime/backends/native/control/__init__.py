"""Lowering of control flow to basic blocks: `cond`, `while_loop`, `reduce`, `try`."""
