"""Keras' `backend.random`."""
