"""TLS on the xDS port, from files that may be replaced while the server runs."""

import asyncio
import logging
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Final

import grpc

from brownout.domain import CertificateNames

_log = logging.getLogger(__name__)

POLL_SECONDS: Final = 1.0
"""How often the files are looked at."""

_CERTIFICATE, _KEY = b"-----BEGIN CERTIFICATE-----", b"PRIVATE KEY-----"
_ENCRYPTED = (b"BEGIN ENCRYPTED PRIVATE KEY", b"Proc-Type: 4,ENCRYPTED")
_PEER_CERTIFICATE, _PEER_NAMES = "x509_pem_cert", ("peer_dns", "peer_uri")
_NOT_OURS = ("KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "NO_CERTIFICATE_ASSIGNED")


class TlsError(OSError):
    """A file cannot be used; `str()` names it and says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class ServerTls:
    """Where the material to listen with is, in PEM form.

    Attributes:
        certificate: The server's certificate, and behind it those of intermediate authorities.
        private_key: The certificate's key, not encrypted.
        client_ca: Authorities by one of which a client's certificate must be signed; None asks for none.
    """

    certificate: Path
    private_key: Path
    client_ca: Path | None = None

    @property
    def all(self) -> tuple[Path, ...]:
        """Every file."""
        return tuple(
            each for each in (self.certificate, self.private_key, self.client_ca) if each is not None
        )


def peer_names(peer: Mapping[str, Sequence[bytes]]) -> CertificateNames | None:
    """Return the names in a client's certificate from gRPC's `auth_context`; None when it showed none."""
    if not peer.get(_PEER_CERTIFICATE):
        return None
    dns, uris = ((each.decode("utf-8", "replace") for each in peer.get(key, ())) for key in _PEER_NAMES)
    return CertificateNames(dns=tuple(dns), uris=tuple(uris))


class Certificates:
    """The material that is being served.

    The files are read again when they have changed. New connections get what they say then, and open ones
    are not touched. While the files cannot be used, what was served before stays.
    """

    def __init__(self, tls: ServerTls) -> None:
        """Read the files.

        Raises:
            TlsError: They cannot be used.
        """
        self._tls = tls
        self._tried = _look(tls)
        self._given = self._configuration = _load(tls)
        self._problem: TlsError | None = None
        self._lock = Lock()

    def credentials(self) -> grpc.ServerCredentials:
        """Return what a port is opened with."""
        return grpc.dynamic_ssl_server_credentials(
            self._configuration, self._fetch, require_client_authentication=self._tls.client_ca is not None
        )

    def _fetch(self) -> grpc.ServerCertificateConfiguration | None:
        """Return what has changed since the last call; gRPC asks at every handshake, on its own threads."""
        with self._lock:
            self._refresh()
            if self._given is self._configuration:
                return None
            self._given = self._configuration
            return self._given

    async def watch(self, interval: float = POLL_SECONDS) -> None:
        """Follow the files, for ever, so that what is wrong is told before anybody connects."""
        told: TlsError | None = None
        while True:
            before = self._problem
            await asyncio.sleep(interval)
            await asyncio.to_thread(self._look_again)
            # Certificate and key are two files: in the middle of a replacement they do not fit each other.
            if (problem := self._problem) is not None and problem is before and problem is not told:
                _log.error("the new TLS files are not used, those before stay in use: %s", problem)
                told = problem

    def _look_again(self) -> None:
        with self._lock:
            self._refresh()

    def _refresh(self) -> None:
        seen = _look(self._tls)
        if seen == self._tried:
            return
        self._tried = seen
        try:
            self._configuration, self._problem = _load(self._tls), None
        except TlsError as problem:
            self._problem = problem
        else:
            _log.info("new connections get the certificate that is in %s now", self._tls.certificate)


def _look(tls: ServerTls) -> tuple[object, ...]:
    """Return what differs when a file is replaced or written to."""
    return tuple(_stat(path) for path in tls.all)


def _stat(path: Path) -> object:
    try:
        found = path.stat()
    except OSError as error:
        return error.errno
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _load(tls: ServerTls) -> grpc.ServerCertificateConfiguration:
    certificate = _certificates("certificate", tls.certificate)
    key = _private_key(tls)
    roots = None if tls.client_ca is None else _certificates("client CA", tls.client_ca)
    return grpc.ssl_server_certificate_configuration([(key, certificate)], roots)


def _content(what: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise TlsError(f"the {what} {path} cannot be read: {error.strerror}") from None


def _certificates(what: str, path: Path) -> bytes:
    content = _content(what, path)
    if _CERTIFICATE not in content:
        raise TlsError(f"the {what} {path} has no certificate in PEM form (-----BEGIN CERTIFICATE-----)")
    try:
        text = content.decode("ascii", "ignore")  # between the certificates there may be words
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_verify_locations(cadata=text)
    except ssl.SSLError as error:
        raise TlsError(f"the {what} {path} has a damaged certificate: {_words(error)}") from None
    return content


def _private_key(tls: ServerTls) -> bytes:
    """Return the key, which is that of the certificate."""
    path = tls.private_key
    content = _content("private key", path)
    if _KEY not in content:
        raise TlsError(f"the private key {path} has no private key in PEM form (-----BEGIN PRIVATE KEY-----)")
    if any(each in content for each in _ENCRYPTED):
        raise TlsError(f"the private key {path} is encrypted: expected one without a passphrase")
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tls.certificate, path, password="")
    except ssl.SSLError as error:
        if error.reason in _NOT_OURS:
            raise TlsError(
                f"the private key {path} does not belong to the certificate {tls.certificate}"
            ) from None
        raise TlsError(f"the private key {path} is damaged: {_words(error)}") from None
    except OSError as error:
        raise TlsError(f"the private key {path} cannot be read: {error.strerror}") from None
    return content


def _words(error: ssl.SSLError) -> str:
    """Return OpenSSL's words without the place in Python's source."""
    return str(error).partition(" (_ssl.c")[0]
