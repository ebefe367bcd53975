"""Dicts, sets, deques, lists of records and objects by reference, as the graph stores them."""
