"""The ops, by family; `op_makers` has the functions that make them. Importing a family's file registers its ops."""
