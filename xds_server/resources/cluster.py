"""Clusters and their endpoints: the upstreams."""

from collections.abc import Iterable

from envoy_data_plane.envoy.config.cluster.v3 import (
    CircuitBreakers,
    CircuitBreakersThresholds,
    Cluster,
    ClusterDiscoveryType,
    ClusterDnsLookupFamily,
    ClusterEdsClusterConfig,
)
from envoy_data_plane.envoy.config.core.v3 import (
    Http1ProtocolOptions,
    Http2ProtocolOptions,
    TransportSocket,
)
from envoy_data_plane.envoy.config.endpoint.v3 import (
    ClusterLoadAssignment,
    Endpoint,
    LbEndpoint,
    LocalityLbEndpoints,
)
from envoy_data_plane.envoy.extensions.filters.http.upstream_codec.v3 import UpstreamCodec
from envoy_data_plane.envoy.extensions.filters.network.http_connection_manager.v3 import HttpFilter
from envoy_data_plane.envoy.extensions.transport_sockets.tls.v3 import (
    CertificateValidationContext,
    CommonTlsContext,
    SubjectAltNameMatcher,
    SubjectAltNameMatcherSanType,
    TlsCertificate,
    UpstreamTlsContext,
)
from envoy_data_plane.envoy.extensions.upstreams.http.v3 import (
    HttpProtocolOptions,
    HttpProtocolOptionsExplicitHttpConfig,
)
from envoy_data_plane.envoy.type.matcher.v3 import StringMatcher

from brownout.domain import Host, Upstream, UpstreamTls
from xds_server.resource_set import Resource
from xds_server.resources.common import address, any_of, data_source, duration, over_ads, packed
from xds_server.resources.extension import disabled_filter

_CLUSTER_TYPE = "envoy.config.cluster.v3.Cluster"
_ASSIGNMENT_TYPE = "envoy.config.endpoint.v3.ClusterLoadAssignment"
_CODEC = "envoy.filters.http.upstream_codec"
_CODEC_TYPE = "envoy.extensions.filters.http.upstream_codec.v3.UpstreamCodec"
_OPTIONS_TYPE = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions"
_TLS_TYPE = "envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext"


def cluster(upstream: Upstream) -> Resource:
    """Return the CDS resource of an upstream: EDS for addresses, STRICT_DNS for names."""
    if upstream.discovery == "eds":
        discovery, assignment = ClusterDiscoveryType.EDS, None
        eds = ClusterEdsClusterConfig(eds_config=over_ads())
    else:
        discovery, assignment, eds = ClusterDiscoveryType.STRICT_DNS, _assignment(upstream), None
    message = Cluster(
        name=upstream.name,
        type=discovery,
        eds_cluster_config=eds,
        load_assignment=assignment,
        # Both families, those that work first: `localhost` is ::1 on many hosts where nothing listens on it.
        dns_lookup_family=ClusterDnsLookupFamily.V4_PREFERRED if eds is None else ClusterDnsLookupFamily.AUTO,
        connect_timeout=duration(upstream.connect_timeout),
        circuit_breakers=_circuit_breakers(upstream),
        typed_extension_protocol_options={_OPTIONS_TYPE: any_of(_OPTIONS_TYPE, _http(upstream))},
        transport_socket=None if upstream.tls is None else _tls(upstream, upstream.tls),
        ignore_health_on_host_removal=True,
    )
    return Resource.of(upstream.name, packed(_CLUSTER_TYPE, bytes(message)))


def endpoints(upstream: Upstream) -> Resource:
    """Return the EDS resource of an upstream."""
    return Resource.of(upstream.name, packed(_ASSIGNMENT_TYPE, bytes(_assignment(upstream))))


def _assignment(upstream: Upstream) -> ClusterLoadAssignment:
    return ClusterLoadAssignment(
        cluster_name=upstream.name,
        endpoints=[LocalityLbEndpoints(lb_endpoints=list(_hosts(upstream.hosts)))],
    )


def _hosts(hosts: Iterable[Host]) -> Iterable[LbEndpoint]:
    for host in hosts:
        yield LbEndpoint(endpoint=Endpoint(address=address(host.address, host.port)))


def _http(upstream: Upstream) -> HttpProtocolOptions:
    if upstream.protocol == "http2":
        explicit = HttpProtocolOptionsExplicitHttpConfig(http2_protocol_options=Http2ProtocolOptions())
    else:
        explicit = HttpProtocolOptionsExplicitHttpConfig(
            http_protocol_options=Http1ProtocolOptions(enable_trailers=True)
        )
    codec = HttpFilter(name=_CODEC, typed_config=any_of(_CODEC_TYPE, UpstreamCodec()))
    return HttpProtocolOptions(explicit_http_config=explicit, http_filters=[disabled_filter(), codec])


def _circuit_breakers(upstream: Upstream) -> CircuitBreakers:
    limits = upstream.circuit_breakers
    threshold = CircuitBreakersThresholds(
        max_connections=limits.max_connections,
        max_pending_requests=limits.max_pending_requests,
        max_requests=limits.max_requests,
        max_retries=limits.max_retries,
    )
    return CircuitBreakers(thresholds=[threshold])


def _tls(upstream: Upstream, tls: UpstreamTls) -> TransportSocket:
    validation = None
    if tls.ca is not None:
        names = [
            SubjectAltNameMatcher(
                san_type=SubjectAltNameMatcherSanType.DNS, matcher=StringMatcher(exact=name)
            )
            for name in tls.subject_alt_names
        ]
        validation = CertificateValidationContext(
            trusted_ca=data_source(tls.ca), match_typed_subject_alt_names=names
        )
    certificates = []
    if tls.certificate is not None and tls.private_key is not None:
        certificates.append(
            TlsCertificate(
                certificate_chain=data_source(tls.certificate), private_key=data_source(tls.private_key)
            )
        )
    context = UpstreamTlsContext(
        sni=tls.sni or "",
        common_tls_context=CommonTlsContext(
            tls_certificates=certificates,
            validation_context=validation,
            alpn_protocols=["h2" if upstream.protocol == "http2" else "http/1.1"],
        ),
    )
    return TransportSocket(name="envoy.transport_sockets.tls", typed_config=any_of(_TLS_TYPE, context))
