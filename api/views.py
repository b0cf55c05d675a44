"""What the API shows of the objects of the core."""

from datetime import UTC, datetime
from typing import Any

from brownout.domain import Catalog, Revision
from brownout.ports import FleetStatus, NodeStatus
from brownout.service import Plan


def instant(value: datetime) -> str:
    """RFC 3339 in UTC."""
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def node_view(node: NodeStatus) -> dict[str, Any]:
    """A node as `Node` describes it."""
    return {
        "id": node.id,
        "fleet": node.fleet,
        "connected": node.connected,
        "since": instant(node.since),
        "version": node.version,
        "locality": dict(node.locality),
        "metadata": dict(node.metadata),
        "schema_version": node.schema_version,
        "acknowledged": {
            kind: {"version": each.version, "revision": each.revision, "at": instant(each.at)}
            for kind, each in node.acknowledged.items()
        },
        "rejected": {
            kind: {"text": each.text, "finding": each.finding, "at": instant(each.at)}
            for kind, each in node.rejected.items()
        },
        "refused": node.refused,
    }


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
        "at": instant(revision.at),
        "actor": revision.actor,
        "action": revision.action,
        "kind": revision.kind,
        "key": revision.key,
        "before": revision.before,
        "after": revision.after,
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
