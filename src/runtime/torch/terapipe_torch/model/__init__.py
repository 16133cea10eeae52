"""Layers of a decoder-only Transformer whose sequences may come in slices."""
