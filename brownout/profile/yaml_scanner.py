"""The YAML library's scanner, kept from reading far into what is nested too deeply."""

from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.scanner import Scanner

from brownout.profile.reading import MAX_DEPTH


class TooDeep(Exception):  # noqa: N818 (a finding about a document, not a fault)
    """More flow collections are open than a document may have levels."""


class _Scanner(Scanner):
    # It looks 1,024 characters ahead of the parser for what may still be a key, and for every token it goes
    # through all open collections: without a limit of its own, that many brackets take a million steps.
    def fetch_flow_collection_start(self, TokenClass: Any, to_push: str) -> None:  # noqa: N803 (the library's)
        if len(self.flow_context) >= MAX_DEPTH:
            raise TooDeep
        super().fetch_flow_collection_start(TokenClass, to_push)


def yaml_parser() -> YAML:
    """A parser of YAML 1.2 in Python.

    Its `parse` raises `TooDeep` beside the library's errors.
    """
    parser = YAML(typ="safe", pure=True)
    parser.Scanner = _Scanner
    return parser
