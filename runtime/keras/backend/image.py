"""Keras' `backend.image`."""
