"""What `list`, `show`, `set` and `delete` of every kind of entity share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from brownout_cli.rest.client import Client, RefusedError, Reply
from brownout_cli.rest.documents import read_mapping
from brownout_cli.rest.exits import Exit
from brownout_cli.rest.output import fail, print_json, print_table, say, talking

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """Where a command talks to, and how it prints."""

    server: str
    as_json: bool


@dataclass(frozen=True, slots=True)
class Changes:
    """Fields to change, from options.

    Attributes:
        options: every option's value by its name; None and an empty list are not given.
        make: changes an entity's document.
    """

    options: Mapping[str, Any]
    make: Callable[[Document], None]

    @property
    def given(self) -> list[str]:
        """The options that were given."""
        return [name for name, value in self.options.items() if value not in (None, [])]


def fill(document: Document, fields: Mapping[str, Any]) -> None:
    """Set those fields that are given."""
    document.update({name: value for name, value in fields.items() if value not in (None, [])})


def show_list(call: Call, path: str, columns: Mapping[str, Callable[[Document], str]], *, empty: str) -> None:
    """Print every item of a list, as a table with the given columns."""
    with talking(call.server, as_json=call.as_json) as client:
        items = client.items(path)
        rows = [tuple(cell(item) for cell in columns.values()) for item in items]
    if call.as_json:
        print_json(items)
    else:
        print_table(tuple(columns), rows, empty=empty)


def show_one(call: Call, path: str) -> None:
    """Print one entity: it is JSON either way, indented."""
    with talking(call.server, as_json=call.as_json) as client:
        print_json(client.get(path).body)


def delete(call: Call, path: str, what: str) -> None:
    """Delete one entity."""
    with talking(call.server, as_json=call.as_json) as client:
        client.call("DELETE", path)
    if call.as_json:
        print_json({"deleted": what})
    else:
        say(f"{what} deleted")


def put(call: Call, path: str, what: str, body: Document, locate: Callable[[str], str] = str) -> None:
    """Create or replace an entity; `locate` turns a path into it into where the user wrote it."""
    with talking(call.server, as_json=call.as_json, locate=locate) as client:
        _report(call, what, client.call("PUT", path, body=body))


def set_entity(call: Call, path: str, what: str, file: str | None, changes: Changes) -> None:
    """Replace an entity with what a file says, or change the given fields of it.

    Raises:
        typer.Exit: both or neither are asked for.
    """
    given = changes.given
    if file is not None and given:
        fail(f"give either --file or {', '.join(given)}, not both", Exit.USAGE)
    if file is not None:
        put(call, path, what, read_mapping(file))
    elif given:
        _change(call, path, what, changes)
    else:
        fail(f"nothing to set: give --file, or some of {', '.join(changes.options)}", Exit.USAGE)


def _change(call: Call, path: str, what: str, changes: Changes) -> None:
    """Nobody's change in between is lost: the write holds only at the revision that was read."""
    with talking(call.server, as_json=call.as_json) as client:
        body, condition = _read(client, path)
        changes.make(body)
        _report(call, what, client.call("PUT", path, body=body, headers=condition))


def _read(client: Client, path: str) -> tuple[Document, dict[str, str]]:
    try:
        reply = client.get(path)
    except RefusedError as refused:
        if refused.status != 404:
            raise
        return {}, {"If-None-Match": "*"}
    return dict(reply.body), {"If-Match": reply.etag or "*"}


def _report(call: Call, what: str, reply: Reply) -> None:
    if call.as_json:
        print_json(reply.body)
    else:
        say(f"{what} {'created' if reply.created else 'set'}, revision {reply.revision}")
