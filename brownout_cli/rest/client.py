"""The command line's HTTP client: one server, problem details as exceptions."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

import httpx

API = "/api/v1"
_FOREIGN = "it is not of a Brownout server, or of one of another version"
_TIMEOUT = httpx.Timeout(30.0, connect=5.0)


class UnreachableError(Exception):
    """No answer from the server, or not one of Brownout's."""


class RefusedError(Exception):
    """The server answered with a problem.

    Attributes:
        status: the HTTP status.
        problem: the problem details, with at least `title`, `detail` and `errors`.
    """

    def __init__(self, status: int, problem: dict[str, Any]) -> None:
        super().__init__(problem["detail"])
        self.status = status
        self.problem = problem


class Answered(dict[str, Any]):
    """An object of an answer: a field that every server of this version sends can be relied on."""

    def __missing__(self, field: str) -> Any:
        """Say why it is not there.

        Raises:
            UnreachableError: always.
        """
        raise UnreachableError(f"the answer has no {field!r}: {_FOREIGN}")


@dataclass(frozen=True, slots=True)
class Reply:
    """A successful answer.

    Attributes:
        body: the parsed JSON; empty without a body.
        etag: the entity tag, as it stands in the header.
    """

    status: int
    body: Answered
    etag: str | None

    @property
    def revision(self) -> int:
        """The revision in the entity tag.

        Raises:
            UnreachableError: there is none.
        """
        tag = (self.etag or "").strip('"')
        if not tag.isdecimal():
            raise UnreachableError(f"the answer has no revision: {_FOREIGN}")
        return int(tag)

    @property
    def created(self) -> bool:
        """Whether a `PUT` made something new."""
        return self.status == httpx.codes.CREATED


def path_of(*segments: str) -> str:
    """A path below `/api/v1` from names that may need quoting."""
    return API + "".join(f"/{quote(segment, safe='')}" for segment in segments)


class Client:
    """Talks to one Brownout server.

    Args:
        server: its base URL.
    """

    def __init__(self, server: str) -> None:
        self.server = server.rstrip("/")
        try:
            self._http = httpx.Client(base_url=self.server, timeout=_TIMEOUT)
        except (httpx.InvalidURL, ValueError) as error:
            raise UnreachableError(f"{server!r} is not a URL: {error}") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def get(self, path: str, **params: str | int | None) -> Reply:
        """`GET`; parameters that are `None` are left out."""
        return self.call("GET", path, params={k: v for k, v in params.items() if v is not None})

    def items(self, path: str) -> list[Any]:
        """Every item of a list, over all its pages."""
        found: list[Any] = []
        cursor: str | None = None
        while True:
            page = self.get(path, limit=1000, cursor=cursor).body
            found += page["items"]
            cursor = page["next"]
            if cursor is None:
                return found

    def call(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        params: Mapping[str, str | int] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """One request with a JSON body (`None`: no body).

        Raises:
            RefusedError: the server answered with a problem.
            UnreachableError: there was no answer, or not one of Brownout's.
        """
        content = None if body is None else json.dumps(body).encode()
        sent = dict(headers or {})
        if content is not None:
            sent["content-type"] = "application/json"
        with self._reaching():
            answer = self._http.request(method, path, content=content, params=params, headers=sent)
        return self._read(answer)

    def text(self, path: str, accept: str) -> str:
        """`GET` something as text in the given media type."""
        with self._reaching():
            answer = self._http.get(path, headers={"accept": accept})
        if answer.is_success:
            return answer.text
        self._read(answer)
        raise AssertionError  # a failed answer always raises

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except httpx.TimeoutException as error:
            raise UnreachableError(f"{self.server} does not answer in time") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise UnreachableError(f"no Brownout server at {self.server}: {error}") from error

    def _read(self, answer: httpx.Response) -> Reply:
        try:
            body = answer.json(object_hook=Answered) if answer.content else Answered()
        except ValueError as error:
            raise UnreachableError(
                f"{self.server} is not a Brownout server: "
                f"{answer.request.method} {answer.request.url.path} gave {answer.status_code} without JSON"
            ) from error
        if not isinstance(body, Answered) or not (answer.is_success or "detail" in body):
            raise UnreachableError(f"{self.server} is not a Brownout server: it gave {answer.status_code}")
        if answer.is_success:
            return Reply(answer.status_code, body, answer.headers.get("etag"))
        raise RefusedError(answer.status_code, {"title": "Refused", "errors": [], **body})
