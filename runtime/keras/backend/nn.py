"""Keras' `backend.nn`."""
