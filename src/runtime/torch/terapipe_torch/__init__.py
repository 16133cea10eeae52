"""Runs a plan of TeraPipe on torch.distributed: token slices, any order of passes, one loop."""

__version__ = "1"
