"""What a client has to get, from what is promised to people who use the filter."""

from dataclasses import dataclass

from tests.runtime.profiles import faults, seconds
from tests.support import RawResponse, Request

from .cases import HOLD, NARROW, NEW_BODY, Case

TEXT = b"fault filter abort: 503\n"
UNAVAILABLE = "14"


@dataclass(frozen=True)
class Got:
    """An answer, and how many seconds it took."""

    answer: RawResponse
    seconds: float


def judge(case: Case, got: Got) -> None:
    """Fail if the answer is not a right one."""
    if case.behaviour.reset:
        _is_plausible(case, got.answer)
        return
    if _may_be_given_up(case) and got.answer.status == 503:
        return
    if _may_be_cut(case):
        assert got.answer.status in {0, 503, _status(case)}
        return
    _is_right(case, got.answer)
    _is_described(case, got.answer)
    if _delay_is_promised(case):
        found = faults(got.answer)
        told = seconds(found["x-fault-actual-upstream"]) + seconds(found.get("x-fault-added-delay", "0s"))
        assert told >= seconds(HOLD) - 1e-6, f"{found}"
        assert got.seconds >= seconds(HOLD) - 1e-3


def _may_be_cut(case: Case) -> bool:
    """Envoy itself may reset a stream whose request has not ended before all of a body is out.

    It does so when the client's window is closed, and when the upstream's stream or connection ends while it
    is paused.
    """
    behaviour = case.behaviour
    closes = behaviour.until_close or behaviour.half_close or behaviour.leaves
    if closes and not case.group.http2 and len(_content(case)) >= case.group.size:
        return True
    if not case.is_early:
        return False
    longest = max(len(_content(case)), len(_forced_body(case)))
    narrow = case.client == "h2-narrow" and longest > NARROW
    return narrow or (behaviour.abandons and longest >= case.group.size)


def _may_be_given_up(case: Case) -> bool:
    """Alone in the cluster, what has trailers and would be retried is reset while it has a rival."""
    retried = case.retry == "hedging" and case.group.position == "upstream"
    return retried and bool(case.behaviour.trailers)


def _is_plausible(case: Case, answer: RawResponse) -> None:
    """The upstream broke off: what came of it, nothing, what was drawn, or Envoy's own 503."""
    behaviour = case.behaviour
    assert answer.status in {0, 200, 502, 503, behaviour.status, _drawn(case)}, answer
    whole = answer.complete and answer.status == behaviour.status and not case.is_forced
    replaced = "x-fault-injected" in faults(answer)  # Envoy's own 503, in the connection manager
    if whole and case.client != "grpc" and not replaced:
        assert bytes(answer.body) == _content(case), "half of a body passes for the whole"


def _is_right(case: Case, answer: RawResponse) -> None:
    behaviour = case.behaviour
    assert answer.complete, f"{answer.status}, {len(answer.body)} bytes, {answer.trailers}"
    if case.is_forced and case.client == "grpc":
        assert (answer.status, bytes(answer.body)) == (200, b"")
        told = {value for name, value in (*answer.headers, *answer.trailers) if name == "grpc-status"}
        assert told == {UNAVAILABLE} or case.draw == "success", told
        assert told
        return
    status, body, trailers = behaviour.status, _content(case), behaviour.trailers
    if case.is_forced:
        status, body, trailers = _drawn(case), _forced_body(case), ()
    if case.shape == "head" or status == 204:
        body = b""
    assert (answer.status, len(answer.body), tuple(answer.trailers)) == (status, len(body), trailers)
    assert answer.body == body
    own = {name: value for name, value in answer.headers if name.startswith("x-filler")}
    assert own == ({} if case.is_forced else dict(behaviour.headers)) or case.client == "grpc"


def _is_described(case: Case, answer: RawResponse) -> None:
    found = faults(answer)
    assert found["x-fault-status"] == str(_drawn(case))
    assert found["x-fault-upstream-status"] == str(case.behaviour.status)
    assert found["x-fault-injected-delay"] == ("0s" if case.draw in {"pass", "rewritten-now"} else HOLD)
    injected = ("response" if case.draw == "success" else "abort") if case.is_forced else None
    assert found.get("x-fault-injected") == injected
    if case.draw in {"pass", "rewritten-now"}:
        assert "x-fault-added-delay" not in found


def _delay_is_promised(case: Case) -> bool:
    if case.draw in {"pass", "rewritten-now"}:
        return False
    if case.group.position != "upstream":
        return True
    return not (case.is_early or case.behaviour.trailers)


def _status(case: Case) -> int:
    return 200 if case.is_forced and case.client == "grpc" else _drawn(case)


def _drawn(case: Case) -> int:
    if not case.is_forced:
        return case.behaviour.status
    return 203 if case.draw == "success" else 503


def _forced_body(case: Case) -> bytes:
    if case.draw == "success":
        return b"made\n"
    return NEW_BODY.encode() if case.draw.endswith("large") else TEXT


def _content(case: Case) -> bytes:
    if case.behaviour.status == 204:
        return b""
    return case.behaviour.content(Request("GET", case.path, (), "http1"))
