"""What code hears of its computer where libraries ask the kernel and not a file.

The kernel would tell of the host, or nothing: then the C library hands on what happens to lie in its
memory. The answers here are those of the generated files. Memory that processes share is a file of the
jar, and counts as one: the kernel does not count it as anybody's.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # As in `typing`, which no jar needs.
if TYPE_CHECKING:
    from typing import Any

# The names and numbers of what the C library asks the kernel for.
PAGES = {
    name
    for text in ("SC_PHYS_PAGES", "SC_AVPHYS_PAGES")
    for name in (text, os.sysconf_names.get(text))
    if name is not None
}
# Fonts with Chinese, Japanese and Korean letters, as hosts have them.
WIDER_FONTS = (
    *(f"Noto Sans CJK {end}" for end in ("SC", "JP", "KR", "TC", "HK")),
    "Source Han Sans SC",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "Droid Sans Fallback",
    "IPAGothic",
    "NanumGothic",
)
# What a font for PostScript is made with: all but the first of them can wait.
PARTS_OF_A_FONT = {
    *("_parse_header", "_header"),
    *("_parse_char_metrics", "_metrics", "_metrics_by_name"),
    *("_parse_optional", "_kern", "_composite"),
}
MAP_SHARED, MAP_PRIVATE, MAP_ANONYMOUS, ACCESS_COPY = 0x01, 0x02, 0x20, 3


def getloadavg() -> tuple[float, float, float]:
    """As /proc/loadavg says it."""
    return (0.0, 0.0, 0.0)


def sched_getaffinity(pid: int, /) -> set[int]:
    """The processors of the policy, for the jar's own process."""
    own = ASK_AFFINITY(pid)
    return set(range(os.cpu_count() or len(own)))


def sysconf(name: str | int, /) -> int:
    """The memory of the policy; for anything else what the C library knows."""
    return memory_bytes() // ASK_SYSCONF("SC_PAGESIZE") if name in PAGES else ASK_SYSCONF(name)


def memory_bytes() -> int:
    """How much memory there is: as a file tells it, or as much as can be had."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            return int(file.readline().split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        import resource

        return resource.getrlimit(resource.RLIMIT_DATA)[0]


def shared_memory(module: Any) -> None:
    """`mmap`: memory without a file, to be shared with forked processes, gets a file."""

    class mmap(module.mmap):  # type: ignore[misc] # a class that is known later
        """The same, with a file where there was none."""

        def __new__(
            cls, fileno: int, length: int, flags: int = MAP_SHARED, *rest: Any, **named: Any
        ) -> Any:
            is_private = flags & MAP_PRIVATE or ACCESS_COPY in (named.get("access"), *rest[1:2])
            if fileno != -1 or is_private or length <= 0:
                return super().__new__(cls, fileno, length, flags, *rest, **named)
            from tempfile import mkstemp

            number, path = mkstemp(prefix=".shared-")
            try:
                os.unlink(path)
                take(number, length)
                return super().__new__(cls, number, length, flags & ~MAP_ANONYMOUS, *rest, **named)
            finally:
                os.close(number)

    mmap.__module__, mmap.__qualname__ = "mmap", "mmap"
    module.mmap = mmap


def fonts(module: Any) -> None:
    """`matplotlib.font_manager`: what the usual font lacks is taken from one that has it, if there is one.

    Labels in Chinese, Japanese or Korean are empty boxes otherwise.
    """
    settings = sys.modules["matplotlib"].rcParams
    there = {font.name for font in module.fontManager.ttflist}
    wider = next((name for name in WIDER_FONTS if name in there), None)
    if wider is not None and wider not in settings["font.family"]:
        settings["font.family"] = [*settings["font.family"], wider]


def font_metrics(module: Any) -> None:
    """`matplotlib._afm`: fonts for PostScript, of which only the header is read until more is asked for.

    matplotlib brings 60 of them, and its list of fonts is made in each jar that imports it: the letters
    and pairs of letters, which the list does not need, would take nine tenths of its time.
    """
    font = module.AFM
    if set(font.__init__.__code__.co_names) != PARTS_OF_A_FONT:
        return
    header, letters, pairs = (
        module._parse_header,
        module._parse_char_metrics,
        module._parse_optional,
    )

    def read_header(self: Any, fh: Any) -> None:
        self._header = header(fh)
        self._rest = fh.read()

    def read_rest(self: Any, name: str) -> Any:
        rest = vars(self).get("_rest")
        if rest is None or name not in PARTS_OF_A_FONT:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        from io import BytesIO

        file = BytesIO(rest)
        self._metrics, self._metrics_by_name = letters(file)
        self._kern, self._composite = pairs(file)
        self._rest = None
        return getattr(self, name)

    font.__init__, font.__getattr__ = read_header, read_rest


def take(number: int, length: int) -> None:
    """Takes the room now, and not when it is written to: then there would be no error but a signal."""
    try:
        os.posix_fallocate(number, 0, length)
    except OSError as error:
        raise OSError(
            error.errno,
            f"no room for {length} bytes: memory that can be shared counts as files here; "
            "for memory of your own, take flags=mmap.MAP_PRIVATE",
        ) from None


ASK_AFFINITY = os.sched_getaffinity
ASK_SYSCONF = os.sysconf


def prepare() -> None:
    """From here on `os` answers so."""
    os.getloadavg = getloadavg
    os.sched_getaffinity = sched_getaffinity
    os.sysconf = sysconf
