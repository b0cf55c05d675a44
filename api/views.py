"""What the API shows of the objects of the core."""

from collections.abc import Mapping
from math import isfinite
from typing import Any

from brownout.domain import Catalog, Damage, Revision
from brownout.ports import FleetStatus, NodeStatus
from brownout.profile.scalars import plain_number
from brownout.profile.timestamps import format_timestamp
from brownout.service import Plan


def node_view(node: NodeStatus) -> dict[str, Any]:
    """A node as `Node` describes it."""
    return {
        "id": node.id,
        "fleet": node.fleet,
        "connected": node.connected,
        "since": format_timestamp(node.since),
        "version": node.version,
        "locality": dict(node.locality),
        "metadata": _plain(node.metadata),
        "schema_version": node.schema_version,
        "acknowledged": {
            kind: {"version": each.version, "revision": each.revision, "at": format_timestamp(each.at)}
            for kind, each in node.acknowledged.items()
        },
        "rejected": {
            kind: {"text": each.text, "finding": each.finding, "at": format_timestamp(each.at)}
            for kind, each in node.rejected.items()
        },
        "refused": node.refused,
    }


def _plain(value: Any) -> Any:
    """Metadata as people write it: protobuf's Struct has floats only."""
    match value:
        case float():
            return plain_number(value) if isfinite(value) else str(value)
        case Mapping():
            return {key: _plain(each) for key, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case _:
            return value


def progress_view(catalog: Catalog, status: FleetStatus, fleet: str) -> dict[str, Any]:
    """How far a fleet is, as `FleetProgress` describes it."""
    reached = status.converged(fleet)
    # What was just committed may not be on its way yet.
    current = reached.revision >= catalog.revision
    return {
        "fleet": fleet,
        "halted": catalog.halted(fleet),
        "revision": reached.revision,
        "nodes": reached.nodes,
        "current": reached.current,
        "rejecting": reached.rejecting,
        "converged": reached.converged and current,
    }


def revision_view(revision: Revision) -> dict[str, Any]:
    """A revision as `Revision` describes it."""
    return {
        "number": revision.number,
        "at": format_timestamp(revision.at),
        "actor": revision.actor,
        "action": revision.action,
        "kind": revision.kind,
        "key": revision.key,
        "before": revision.before,
        "after": revision.after,
    }


def damage_view(damage: Damage) -> dict[str, Any]:
    """A damaged row as `Damage` describes it."""
    return {
        "kind": damage.kind,
        "key": damage.key,
        "errors": [{"path": each.path, "message": each.message} for each in damage.errors],
        "document": damage.document,
    }


def plan_view(plan: Plan) -> dict[str, Any]:
    """What an apply does, as `Plan` describes it."""
    changes = [
        {
            "action": each.action,
            "kind": each.kind,
            "key": each.key,
            "before": each.before,
            "after": each.after,
        }
        for each in plan.changes
    ]
    return {"revision": plan.revision, "changes": changes}
