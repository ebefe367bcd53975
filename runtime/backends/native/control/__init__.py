"""Control flow as blocks: `cond`, `while_loop`, `reduce`, `try`."""
