"""Certificates on disk, as an authority would issue and renew them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Issued:
    """A certificate and its private key, each a file in PEM form."""

    certificate: Path
    key: Path


class Authority:
    """Signs certificates; its own is `certificate`, a file in PEM form.

    Args:
        folder: where all files go, those of certificates under `<name>.pem` and `<name>.key`.
        name: of the authority's own file.
    """

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"authority {name}")])
        builder = _builder(self._subject, self._subject, self._key.public_key()).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        self.certificate = folder / f"{name}.pem"
        self.certificate.write_bytes(builder.sign(self._key, SHA256()).public_bytes(Encoding.PEM))

    def issue(self, name: str, *subjects: str) -> Issued:
        """Write a certificate for DNS names, IP addresses and URIs, in place of the one before.

        Each file is renamed into its place, as tools that renew certificates do.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(x509.Name([]), self._subject, key.public_key()).add_extension(
            x509.SubjectAlternativeName(_general_names(subjects)), critical=True
        )
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        issued = Issued(self._folder / f"{name}.pem", self._folder / f"{name}.key")
        replace(issued.key, pem)
        replace(issued.certificate, builder.sign(self._key, SHA256()).public_bytes(Encoding.PEM))
        return issued


def replace(path: Path, content: bytes) -> None:
    """Put a new file in the place of an old one, in one step."""
    new = path.with_suffix(f"{path.suffix}.new")
    new.write_bytes(content)
    new.replace(path)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + _DAY)
    )


def _general_names(subjects: Iterable[str]) -> Iterable[x509.GeneralName]:
    for subject in subjects:
        if "://" in subject:
            yield x509.UniformResourceIdentifier(subject)
            continue
        try:
            yield x509.IPAddress(ip_address(subject))
        except ValueError:
            yield x509.DNSName(subject)
