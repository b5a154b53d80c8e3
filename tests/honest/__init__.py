"""Runs the programs in `programs/` as their authors would, and says which of them did as expected."""
