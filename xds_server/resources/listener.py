"""Listeners of a gateway."""

from envoy_data_plane.envoy.config.core.v3 import Http1ProtocolOptions, TransportSocket
from envoy_data_plane.envoy.config.listener.v3 import Filter, FilterChain
from envoy_data_plane.envoy.config.listener.v3 import Listener as EnvoyListener
from envoy_data_plane.envoy.extensions.filters.http.router.v3 import Router
from envoy_data_plane.envoy.extensions.filters.network.http_connection_manager.v3 import (
    HttpConnectionManager,
    HttpConnectionManagerCodecType,
    HttpConnectionManagerUpgradeConfig,
    HttpFilter,
    Rds,
)
from envoy_data_plane.envoy.extensions.transport_sockets.tls.v3 import (
    CertificateValidationContext,
    CommonTlsContext,
    DownstreamTlsContext,
    TlsCertificate,
)

from brownout.domain import Listener, ListenerTls
from xds_server.resource_set import Resource
from xds_server.resources.common import NAME, address, any_of, data_source, over_ads, packed
from xds_server.resources.extension import disabled_filter

_LISTENER_TYPE = "envoy.config.listener.v3.Listener"
_MANAGER = "http_connection_manager"
_MANAGER_TYPE = f"envoy.extensions.filters.network.{_MANAGER}.v3.HttpConnectionManager"
_ROUTER_TYPE = "envoy.extensions.filters.http.router.v3.Router"
_TLS_TYPE = "envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext"


def listener(entry: Listener) -> Resource:
    """Return the LDS resource of a listener: HTTP/1 and HTTP/2, all routes by RDS, our filter and the router.

    Its statistics are `http.<name>.…`. Nothing here limits what a backend may do: bodies stream, upgrades to
    websocket pass, HTTP/1 trailers are kept.
    """
    router = HttpFilter(name="envoy.filters.http.router", typed_config=any_of(_ROUTER_TYPE, Router()))
    manager = HttpConnectionManager(
        stat_prefix=entry.name,
        codec_type=HttpConnectionManagerCodecType.AUTO,
        rds=Rds(config_source=over_ads(), route_config_name=NAME),
        http_filters=[disabled_filter(), router],
        use_remote_address=True,
        http_protocol_options=Http1ProtocolOptions(enable_trailers=True),
        upgrade_configs=[HttpConnectionManagerUpgradeConfig(upgrade_type="websocket")],
    )
    chain = FilterChain(
        filters=[
            Filter(name=f"envoy.filters.network.{_MANAGER}", typed_config=any_of(_MANAGER_TYPE, manager))
        ],
        transport_socket=None if entry.tls is None else _tls(entry.tls),
    )
    message = EnvoyListener(
        name=entry.name,
        address=address(entry.address, entry.port),
        filter_chains=[chain],
    )
    return Resource.of(entry.name, packed(_LISTENER_TYPE, bytes(message)))


def _tls(tls: ListenerTls) -> TransportSocket:
    validation = None
    if tls.client_ca is not None:
        validation = CertificateValidationContext(trusted_ca=data_source(tls.client_ca))
    certificate = TlsCertificate(
        certificate_chain=data_source(tls.certificate), private_key=data_source(tls.private_key)
    )
    context = DownstreamTlsContext(
        require_client_certificate=True if tls.client_ca is not None else None,
        common_tls_context=CommonTlsContext(
            tls_certificates=[certificate],
            validation_context=validation,
            alpn_protocols=["h2", "http/1.1"],
        ),
    )
    return TransportSocket(name="envoy.transport_sockets.tls", typed_config=any_of(_TLS_TYPE, context))
