"""Lowerings of convolution and pooling."""
