"""Keras' `backend.linalg`."""
