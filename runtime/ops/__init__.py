"""The ops, by family; `op_makers` has the makers. Importing a family's file registers its ops."""
