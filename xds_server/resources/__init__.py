"""Envoy's resources, built from the model and serialised.

A resource is built by `envoy_data_plane` and serialised once. Only what is put together from many of them
(virtual hosts, route configurations) is spliced from the bytes of its parts: serialising a whole route
configuration of a thousand routes takes two seconds, splicing it a few milliseconds.
"""
