"""Keras' `backend.math`."""
