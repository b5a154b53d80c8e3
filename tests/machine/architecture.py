"""What differs between the architectures that a machine can have."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Architecture:
    """One architecture, as QEMU, Debian and binutils name it."""

    qemu: tuple[str, ...]
    """The emulator and the machine that it emulates."""
    console: str
    """The kernel's name for its serial port."""
    triplet: str
    """The folder of libraries in Debian."""
    loader: str
    """Where programs expect the dynamic loader."""
    strip: str
    """The program that removes debugging symbols, if it is installed."""


ARCHITECTURES = {
    "x86_64": Architecture(
        # Without KVM, `max` has cmpxchg16b, on which Linux 6.12 dies in QEMU 7.2.
        qemu=("qemu-system-x86_64", "-cpu", "max,cx16=off"),
        console="ttyS0",
        triplet="x86_64-linux-gnu",
        loader="/lib64/ld-linux-x86-64.so.2",
        strip="strip",
    ),
    "aarch64": Architecture(
        qemu=("qemu-system-aarch64", "-M", "virt", "-cpu", "max,pauth-impdef=on"),
        console="ttyAMA0",
        triplet="aarch64-linux-gnu",
        loader="/lib/ld-linux-aarch64.so.1",
        strip="aarch64-linux-gnu-strip",
    ),
}
