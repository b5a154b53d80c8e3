"""Where a server is, and what its requests begin with."""

from __future__ import annotations

import os
import re
import ssl
from urllib.parse import urlsplit

from ._errors import RequestError

_HINT = (
    'write url="http://127.0.0.1:8722", as `carboy serve` prints it; https: and unix:PATH work too'
)
# What may stand in a header, or in a path.
_KEY = re.compile(r"[\x21-\x7e]+")
_PATH = re.compile(r"(/[A-Za-z0-9._~!$&'()*+,;=:@%-]+)*")
_HOST = re.compile(r"[A-Za-z0-9._:%\[\]-]+")


def checked_address(url: str | None, key: str | None, **local: object) -> Address | None:
    """The server that a box is for, if it is for one. `local` are settings of an engine of its own."""
    if url is None:
        if key is not None:
            raise RequestError("key has no effect without url", hint=_HINT)
        return None
    for name, value in local.items():
        if value:
            raise RequestError(
                f"{name} cannot be chosen with url: whoever starts the server says that",
                hint=f"leave {name} out; `carboy serve --help` has such options",
            )
    return Address(url, key)


class Address:
    """A server, and the key that it knows the caller by."""

    def __init__(self, url: str, key: str | None) -> None:
        if not isinstance(url, str):
            raise RequestError(f"url must be str, not {type(url).__name__}", hint=_HINT)
        if key is None:
            key = os.environ.get("CARBOY_KEY", "")
        if not isinstance(key, str) or not _KEY.fullmatch(key):
            raise RequestError(
                "the server needs a key, and what was given is none" if key else "key is missing",
                hint='write key="carboy_...", as `carboy serve` prints it, or set CARBOY_KEY',
            )
        self.url = url
        self.tls: ssl.SSLContext | None = None
        # The path of a Unix socket, or None.
        self.socket: str | None = None
        self.host, self.port = "localhost", 0
        prefix = ""
        if url.startswith("unix:"):
            # `unix:/run/a` and `unix:///run/a` are the same.
            self.socket = re.sub("^//(?=/)", "", url[len("unix:") :])
            host = "localhost"
            is_usable = bool(self.socket) and "\0" not in self.socket
        else:
            host, prefix, is_usable = self._parsed(url)
        if not is_usable:
            # It may hold a password.
            raise RequestError("the url cannot be used", hint=_HINT)
        # What every path begins with, and what every request has.
        self.prefix = prefix
        self.head = f"Host: {host}\r\nAuthorization: Bearer {key}\r\nUser-Agent: carboy-python\r\n"

    def _parsed(self, url: str) -> tuple[str, str, bool]:
        """The `Host`, the beginning of every path, and whether they can be used."""
        try:
            parts = urlsplit(url)
            self.port = parts.port or (443 if parts.scheme == "https" else 80)
            self.host = parts.hostname or ""
        except ValueError:
            return "", "", False
        host, prefix = parts.netloc, parts.path.rstrip("/")
        is_usable = (
            parts.scheme in ("http", "https")
            and bool(self.host)
            and _HOST.fullmatch(host) is not None
            and _PATH.fullmatch(prefix) is not None
            and not parts.query
            and not parts.fragment
        )
        if is_usable and parts.scheme == "https":
            # SSL_CERT_FILE names certificates to trust beside those of the system.
            self.tls = ssl.create_default_context()
        return host, prefix, is_usable

    def request(self, method: str, path: str, body: bytes | None, more: str = "") -> bytes:
        """The head of a request. `path` and `more`, other headers, are ours."""
        lines = f"{method} {self.prefix}{path} HTTP/1.1\r\n{self.head}{more}"
        if body is not None:
            lines += f"Content-Length: {len(body)}\r\n"
        if not f"{method}{path}".isascii() or not f"{method}{path}".isprintable() or " " in path:
            raise RequestError(f"the path {path!r} cannot be asked for")
        return f"{lines}\r\n".encode("ascii")

    def __repr__(self) -> str:
        # The key is nobody's to see.
        return f"Address({self.url!r})"
