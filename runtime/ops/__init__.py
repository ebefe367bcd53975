"""The ops, by family; `families` has the makers. Importing a family's file registers its ops."""
