"""The xDS transport protocol: what a stream remembers, without any I/O.

https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol
"""
