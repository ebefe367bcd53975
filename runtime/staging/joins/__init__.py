"""The lattice of types of staged state: joins, and the conversion to the leaves of a graph."""
