"""Values while code is written, element-wise code, loops over elements, threads."""
