"""A push service with one browser: decrypts what arrives and verifies who sent it.

Written from the standards with cryptography alone, so that nothing of what sends also reads.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


@dataclass
class PushSink:
    """What arrived: headers, the opened JSON, the verified claims; ``status`` is the answer."""

    status: int = 201
    url: str = ""
    headers: list[dict[str, str]] = field(default_factory=list)
    opened: list[dict[str, Any]] = field(default_factory=list)
    claims: list[dict[str, Any]] = field(default_factory=list)
    key: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )
    auth: bytes = b"sixteen-byte-key"

    @property
    def keys(self) -> dict[str, str]:
        """Return the browser's keys as it gives them to a page."""
        point = self.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        return {"p256dh": encoded(point), "auth": encoded(self.auth)}

    def take(self, headers: dict[str, str], body: bytes) -> None:
        """Open and verify one message."""
        assert headers["content-encoding"] == "aes128gcm"
        self.headers.append(headers)
        self.claims.append(verified_claims(headers["authorization"]))
        self.opened.append(json.loads(self._open(body)))

    def _open(self, body: bytes) -> bytes:
        """Decrypt one record as RFC 8291 and RFC 8188 say."""
        salt, length = body[:16], body[20]
        sender, sealed = body[21 : 21 + length], body[21 + length :]
        theirs = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender)
        info = b"WebPush: info\0" + decoded(self.keys["p256dh"]) + sender
        secret = _derived(self.key.exchange(ec.ECDH(), theirs), self.auth, info, 32)
        key = _derived(secret, salt, b"Content-Encoding: aes128gcm\0", 16)
        nonce = _derived(secret, salt, b"Content-Encoding: nonce\0", 12)
        padded = AESGCM(key).decrypt(nonce, sealed, None)
        plain, mark, _ = padded.rpartition(b"\x02")
        assert mark, "the last record ends with 2 and zeros"
        return plain


def _derived(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(algorithm=hashes.SHA256(), length=length, salt=salt, info=info).derive(secret)


def verified_claims(authorization: str) -> dict[str, Any]:
    """Return the claims of a VAPID header; raise InvalidSignature for a forged one."""
    scheme, _, rest = authorization.partition(" ")
    assert scheme == "vapid"
    parts = dict(part.strip().split("=", 1) for part in rest.split(","))
    head, claims, signature = parts["t"].split(".")
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decoded(parts["k"]))
    raw = decoded(signature)
    der = encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    key.verify(der, f"{head}.{claims}".encode(), ec.ECDSA(hashes.SHA256()))
    found: dict[str, Any] = json.loads(decoded(claims))
    return {**found, "key": parts["k"]}


@contextmanager
def push_service(sink: PushSink) -> Iterator[PushSink]:
    """Run the sink on this machine."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if sink.status < 300:
                sink.take({name.lower(): value for name, value in self.headers.items()}, body)
            self.send_response(sink.status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            """Stay quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    sink.url = f"http://127.0.0.1:{server.server_address[1]}/push/browser-1"
    try:
        yield sink
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
