"""Who may join a fleet."""

from collections.abc import Collection, Mapping

from brownout.domain import CertificateNames, Fleet, Stored


class Admission:
    """The fleets' bindings to certificates.

    They hold as soon as they are published: nothing has to be compiled for that.
    """

    def __init__(self) -> None:
        self._fleets: Mapping[str, Stored[Fleet]] = {}

    def update(self, fleets: Mapping[str, Stored[Fleet]]) -> Collection[str]:
        """Take the fleets of a catalog; return the names of those that have changed."""
        before, self._fleets = self._fleets, fleets
        if before is fleets:
            return ()
        return [name for name, stored in fleets.items() if before.get(name) is not stored]

    def refusal(self, fleet: str, names: CertificateNames | None) -> str | None:
        """Return why an Envoy with such a certificate (None: with none) may not join; None when it may."""
        stored = self._fleets.get(fleet)
        if stored is None or stored.entity.admits(names):
            return None
        if names is None:
            return f"fleet {fleet!r} requires a certificate, and the connection shows none"
        return f"the certificate shown has no name that fleet {fleet!r} takes; it has {names}"
