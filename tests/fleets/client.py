"""A client of a broker that speaks the protocol itself: it does what no program of the fleet does."""

import base64
import json
import socket
import ssl
import subprocess
import tempfile
from pathlib import Path

from .world import BROKERS

# What comes before the seed in a private key, and before the key in a public one (RFC 8410).
PRIVATE = bytes.fromhex("302e020100300506032b657004220420")
# The first byte of a public key of a user, as nkeys are written.
USER = 20 << 3


def crc16(data: bytes) -> int:
    """The checksum of nkeys."""
    found = 0
    for byte in data:
        found ^= byte << 8
        for _ in range(8):
            found = (found << 1) ^ 0x1021 if found & 0x8000 else found << 1
        found &= 0xFFFF
    return found


def signed(seed: str, nonce: bytes) -> tuple[str, str]:
    """The public key of a seed, and what it says to a nonce."""
    # Two bytes say what it is, and two are its checksum.
    raw = base64.b32decode(seed + "=" * (-len(seed) % 8))[2:34]
    with tempfile.TemporaryDirectory() as folder:
        key, text = f"{folder}/key.der", f"{folder}/nonce"
        Path(key).write_bytes(PRIVATE + raw)
        Path(text).write_bytes(nonce)
        openssl = ["openssl", "pkey", "-inform", "DER", "-in", key, "-pubout", "-outform", "DER"]
        public = subprocess.run(openssl, capture_output=True, check=True).stdout[-32:]
        openssl = [
            "openssl",
            "pkeyutl",
            "-sign",
            "-rawin",
            "-keyform",
            "DER",
            "-inkey",
            key,
            "-in",
            text,
        ]
        signature = subprocess.run(openssl, capture_output=True, check=True).stdout
    body = bytes([USER]) + public
    written = base64.b32encode(body + crc16(body).to_bytes(2, "little")).decode().rstrip("=")
    return written, base64.urlsafe_b64encode(signature).decode().rstrip("=")


class Client:
    """A connection with the credentials of a role, which reads only when it is told to."""

    def __init__(self, credentials: Path, broker: int = 0, buffer: int | None = None) -> None:
        plain = socket.socket()
        if buffer is not None:
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        plain.settimeout(30)
        plain.connect((BROKERS[broker], 4222))
        # It says who it is before anything is encrypted.
        told = b""
        while not told.endswith(b"\r\n"):
            told += plain.recv(1)
        nonce = json.loads(told.removeprefix(b"INFO "))["nonce"].encode()
        context = ssl.create_default_context(cafile=str(credentials / "ca.pem"))
        context.load_cert_chain(credentials / "cert.pem", credentials / "key.pem")
        self.socket = context.wrap_socket(plain, server_hostname=BROKERS[broker])
        public, signature = signed((credentials / "nkey").read_text().strip(), nonce)
        asked = {"verbose": False, "pedantic": False, "tls_required": True, "nkey": public,
                 "sig": signature, "lang": "python", "version": "0", "protocol": 1}  # fmt: skip
        self.unread = b""
        self.say(f"CONNECT {json.dumps(asked)}")
        self.ping()

    def say(self, *lines: str) -> None:
        """Sends lines."""
        self.socket.sendall("".join(f"{line}\r\n" for line in lines).encode())

    def ping(self) -> list[str]:
        """Everything that came of what was said until now: errors, if there were any."""
        self.say("PING")
        errors: list[str] = []
        while True:
            line = self.line()
            if line == "PONG":
                return errors
            if line == "PING":
                self.say("PONG")
            elif line.startswith("-ERR"):
                errors.append(line)

    def line(self) -> str:
        """The next line."""
        while b"\r\n" not in self.unread:
            more = self.socket.recv(65536)
            if not more:
                raise ConnectionError(f"the broker ended it: {self.unread!r}")
            self.unread += more
        line, _, self.unread = self.unread.partition(b"\r\n")
        return line.decode()

    def close(self) -> None:
        """Ends it."""
        self.socket.close()
