"""What the OpenAPI document says is served: paths, methods, query parameters.

The document is the truth for requests that no route takes (404 with a suggestion, 405 with `Allow`)
and for query parameters that no route reads.
"""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.routing import compile_path

from api.problems import ApiProblem, Invalid, Missing, WrongMethod

_METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True, slots=True)
class _Path:
    template: str
    matches: Any
    queries: Mapping[str, frozenset[str]]


class Operations:
    """Every operation of an OpenAPI document, looked up by a request's path.

    Args:
        document: the OpenAPI document.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._paths = tuple(
            _Path(
                template,
                compile_path(template)[0].match,
                {
                    method.upper(): _query_names(operation)
                    for method, operation in item.items()
                    if method in _METHODS
                },
            )
            for template, item in document["paths"].items()
        )

    def unrouted(self, method: str, path: str) -> ApiProblem:
        """The problem for a request that no route takes: 405 where other methods work, else 404."""
        methods = {known for found in self._matching(path) for known in found.queries}
        if not methods:
            near = difflib.get_close_matches(
                path, [known.template for known in self._paths], n=1, cutoff=0.75
            )
            hint = f"; did you mean {near[0]}?" if near else "; /api/v1/openapi.json lists every path"
            return Missing(f"there is no {path}{hint}")
        if "GET" in methods:
            methods.add("HEAD")
        return WrongMethod(path, method, ", ".join(sorted(methods)))

    def check_query(self, method: str, path: str, names: Iterable[str]) -> None:
        """Refuse query parameters that the operation does not read, and repeated ones.

        Raises:
            Invalid: names every one of them.
        """
        # `/profiles/validate` is an operation of its own for POST, and a profile's name for GET.
        known = next(
            (found.queries[method] for found in self._matching(path) if method in found.queries), frozenset()
        )
        expected = f"expected {', '.join(sorted(known))}" if known else "none is read here"
        errors: list[tuple[str, str]] = []
        seen: set[str] = set()
        for name in names:
            if name not in known:
                errors.append((name, f"unknown query parameter; {expected}"))
            elif name in seen:
                errors.append((name, "given more than once"))
            seen.add(name)
        if errors:
            raise Invalid(errors)

    def _matching(self, path: str) -> Iterator[_Path]:
        return (known for known in self._paths if known.matches(path))


def _query_names(operation: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(
        parameter["name"] for parameter in operation.get("parameters", ()) if parameter["in"] == "query"
    )
