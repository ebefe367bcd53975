"""Keras' `backend.numpy`."""
