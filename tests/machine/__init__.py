"""Machines in QEMU, for tests that need another kernel or another architecture than this host's.

`packages` gets kernels, `initrd` packs a small system with the program and an interpreter, `boot` runs it,
and `init` is what runs inside. No root is needed, and no KVM.
"""
