"""TLS between an Envoy and the control plane: the Envoy's side."""

import ipaddress
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brownout_cli.addresses import Address

_TYPE = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3."
_CA, _CLIENT = "brownout_xds_ca", "brownout_xds_client"


@dataclass(frozen=True, slots=True)
class XdsTls:
    """How an Envoy verifies the control plane, and proves who it is. The files are on the Envoy's host.

    Attributes:
        ca: authorities by one of which the control plane's certificate must be signed.
        client: the Envoy's own certificate and its private key; None shows none.
        server_name: a name (or IP address) that the control plane's certificate must have; None: one of the
            hosts by which it is reached.
        secrets: a folder for `secret_files`, by which Envoy follows certificates that are replaced; without
            it Envoy reads them once, when it starts.
    """

    ca: Path
    client: tuple[Path, Path] | None = None
    server_name: str | None = None
    secrets: Path | None = None

    def transport_socket(self, control_plane: Sequence[Address]) -> dict[str, Any]:
        """The transport socket of the control plane's cluster."""
        names = [self.server_name] if self.server_name is not None else [each.host for each in control_plane]
        common: dict[str, Any] = {"alpn_protocols": ["h2"]}
        verified = {"match_typed_subject_alt_names": [_subject(name) for name in dict.fromkeys(names)]}
        if self.secrets is None:
            common["validation_context"] = self._authorities | verified
            if self.client is not None:
                common["tls_certificates"] = [_certificate(*self.client)]
        else:
            common["combined_validation_context"] = {
                "default_validation_context": verified,
                "validation_context_sds_secret_config": _followed(_CA, self.secrets),
            }
            if self.client is not None:
                common["tls_certificate_sds_secret_configs"] = [_followed(_CLIENT, self.secrets)]
        context = {"@type": f"{_TYPE}UpstreamTlsContext", **_sni(names), "common_tls_context": common}
        return {"name": "envoy.transport_sockets.tls", "typed_config": context}

    def secret_files(self) -> Mapping[str, dict[str, Any]]:
        """What the files in `secrets` hold, by file name: Envoy takes one secret from each."""
        found = {_file(_CA): _secret(_CA, validation_context=self._authorities)}
        if self.client is not None:
            found[_file(_CLIENT)] = _secret(_CLIENT, tls_certificate=_certificate(*self.client))
        return found

    @property
    def _authorities(self) -> dict[str, Any]:
        return {"trusted_ca": _file_source(self.ca)}


def _is_ip(name: str) -> bool:
    return Address(name, 0).is_ip


def _subject(name: str) -> dict[str, Any]:
    """How Envoy says that a certificate must have a name."""
    if _is_ip(name):
        return {"san_type": "IP_ADDRESS", "matcher": {"exact": str(ipaddress.ip_address(name))}}
    return {"san_type": "DNS", "matcher": {"exact": name}}


def _sni(names: Iterable[str]) -> dict[str, Any]:
    """Which server name Envoy asks for, so that a proxy on the way can tell; an IP address is none."""
    first, *others = names
    if any(_is_ip(each) for each in (first, *others)):
        return {}
    return {"auto_host_sni": True} if others else {"sni": first}


def _certificate(chain: Path, private_key: Path) -> dict[str, Any]:
    return {"certificate_chain": _file_source(chain), "private_key": _file_source(private_key)}


def _file_source(path: Path) -> dict[str, Any]:
    return {"filename": str(path)}


def _file(secret: str) -> str:
    return f"{secret}.json"


def _secret(name: str, **content: Any) -> dict[str, Any]:
    return {"resources": [{"@type": f"{_TYPE}Secret", "name": name, **content}]}


def _followed(secret: str, folder: Path) -> dict[str, Any]:
    source = {"path_config_source": {"path": str(folder / _file(secret))}, "resource_api_version": "V3"}
    return {"name": secret, "sds_config": source}
