"""Analyses: scopes, liveness, definite assignment, staging candidates. They do not change the tree."""
