"""Certificates made on the spot, for tests of TLS."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, slots=True)
class SelfSigned:
    """A certificate for one name, signed by itself."""

    path: Path

    def server_context(self) -> ssl.SSLContext:
        """Return the receiver's side."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.path)
        return context

    def trusting_context(self) -> ssl.SSLContext:
        """Return a client's side that trusts this certificate and checks names."""
        return ssl.create_default_context(cafile=str(self.path))


def pem_pair(name: str = "client.example") -> tuple[str, str]:
    """Return certificate and private key of a client, each as PEM."""
    with TemporaryDirectory() as folder:
        key, certificate = self_signed(Path(folder), name).path.read_text().split("-----BEGIN C")
    return f"-----BEGIN C{certificate}", key


def self_signed(folder: Path, name: str, *, expired: bool = False) -> SelfSigned:
    """Write certificate and key for ``name`` into ``folder``."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    start = datetime.now(UTC) - timedelta(days=10)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=5 if expired else 20))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / f"{name}.pem"
    path.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return SelfSigned(path)
