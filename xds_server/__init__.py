"""The xDS server: what is configured, delivered to every Envoy of a fleet over one aggregated stream.

The layers, from the bottom: `wire` and `resource_set` (bytes and their versions), `protocol` (what a stream
remembers, no I/O), `resources` (Envoy's messages), `compiler` and `program` (a catalog becomes snapshots),
`hub`, `session` and `registry` (who gets what, and has it), `connection`, `publisher` and `server` (I/O).
"""

from xds_server.options import Options
from xds_server.server import XdsServer
from xds_server.tls import ServerTls, TlsError

__all__ = ["Options", "ServerTls", "TlsError", "XdsServer"]
