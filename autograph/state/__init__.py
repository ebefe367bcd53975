"""The state of a staged statement: what its bodies may read and change."""
