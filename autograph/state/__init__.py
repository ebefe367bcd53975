"""The state of a staged statement: the values that its bodies may read and change."""
