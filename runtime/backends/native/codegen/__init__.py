"""Values during code generation, element-wise code, loops over elements, threads."""
