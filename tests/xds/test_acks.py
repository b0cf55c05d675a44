"""Rows of the protocol about ACK, NACK and nonces."""

from tests.xds.client import Asked, Client
from tests.xds.world import World, endpoint, upstream
from xds_server import XdsServer
from xds_server.types import CDS, ECDS, EDS, LDS, RDS


async def test_ack_is_not_answered(client: Client) -> None:
    """ACK → quiet, for every type, and repeated ones too."""
    for kind, names in ((CDS, ()), (EDS, ("a", "b")), (LDS, ()), (RDS, ("brownout",)), (ECDS, ("brownout",))):
        reply = await client.get(kind, *names)
        await client.ack(reply)
        await client.ack(reply)
    await client.quiet()


async def test_nack_is_not_answered(client: Client, server: XdsServer, world: World) -> None:
    """NACK → quiet, the error is recorded and shown, other types flow.

    Also when it is the very first response.
    """
    await client.ask(RDS, "brownout")
    await client.nack(await client.recv(RDS), "route is odd")
    await client.quiet()
    node = server.status.nodes()[0]
    assert node.rejected["rds"].text == "route is odd"
    assert "rds" not in node.acknowledged
    await client.get(CDS)
    await world.commit(upstream("a", connect_timeout="3s"))
    await client.next(CDS)
    assert server.status.nodes()[0].rejected.keys() == {"rds"}


async def test_fifty_nacks(client: Client, server: XdsServer, world: World) -> None:
    """The same NACK fifty times: nothing is sent until content changes.

    A fix is sent, its ACK clears the error.
    """
    await client.ask(RDS, "brownout")
    reply = await client.recv(RDS)
    for _ in range(50):
        await client.nack(reply)
    await client.quiet()
    await world.commit(endpoint("c", "a"))
    fixed = await client.recv(RDS)
    assert fixed.resources != reply.resources
    assert server.status.nodes()[0].rejected.keys() == {"rds"}
    await client.ack(fixed)
    await client.get(LDS)
    assert server.status.nodes()[0].rejected == {}
    assert server.status.nodes()[0].acknowledged["rds"].version == fixed.version


async def test_nack_then_back_to_the_accepted_content(client: Client, world: World) -> None:
    """What was accepted before is sent again when it replaces what was rejected."""
    good = await client.get(RDS, "brownout")
    await world.commit(endpoint("c", "a"))
    await client.nack(await client.recv(RDS))
    await world.commit(remove=[("endpoint", "c")])
    assert (await client.next(RDS)).resources == good.resources


async def test_rejected_clusters_and_listeners(client: Client, world: World, server: XdsServer) -> None:
    """A rejected CDS or LDS is not an unchanged one.

    All of it comes with the fix, and nothing has converged before.
    """
    await client.ask(CDS)
    await client.nack(await client.recv(CDS))
    await client.get(LDS)
    assert not server.status.converged("edge").converged
    assert server.status.converged("edge").rejecting == 1
    await world.commit(upstream("b", connect_timeout="3s"))
    assert (await client.next(CDS)).names == ["a", "b"]
    await client.get(RDS, "brownout")
    await client.quiet()
    assert server.status.converged("edge").converged


async def test_nack_that_asks_for_a_new_name(sotw: Client) -> None:
    """S: the new name is sent, the rejected content is not."""
    await sotw.ask(EDS, "a")
    reply = await sotw.recv(EDS)
    asked = sotw.asked[EDS]
    asked.names |= {"b"}
    await sotw.nack(reply)
    asked.asked_since = frozenset({"b"})
    assert (await sotw.recv(EDS)).names == ["b"]


async def test_ask_for_more(client: Client) -> None:
    """ACK names [A], ask [A, B]: B arrives although nothing has changed, and A does not come again."""
    await client.get(EDS, "a")
    assert (await client.get(EDS, "a", "b")).names == ["b"]
    await client.quiet()


async def test_ack_that_asks_for_more(sotw: Client) -> None:
    """S: an ACK that names one more gets that."""
    await sotw.ask(EDS, "a")
    reply = await sotw.recv(EDS)
    sotw.asked[EDS].names |= {"b"}
    sotw.asked[EDS].asked_since |= {"b"}
    await sotw.ack(reply)
    assert (await sotw.next(EDS)).names == ["b"]


async def test_stale_nonce_sotw(sotw: Client, world: World) -> None:
    """S: a request with a stale nonce → quiet, whatever it asks; the next with the right one counts."""
    old = await sotw.get(EDS, "a")
    await world.commit(upstream("a", port=9100))
    new = await sotw.recv(EDS)
    await sotw.send_sotw(EDS, resource_names=["a", "b"], response_nonce=old.nonce)
    await sotw.quiet()
    await sotw.ack(new)
    await sotw.quiet()
    await sotw.get(EDS, "a", "b")


async def test_names_without_a_nonce_sotw(sotw: Client) -> None:
    """S: a request that crossed the first response has no nonce: it answers nothing, and its names count."""
    await sotw.ask(EDS, "a")
    reply = await sotw.recv(EDS)
    sotw.asked[EDS].names = sotw.asked[EDS].asked_since = frozenset({"a", "b"})
    await sotw.send_sotw(EDS, response_nonce="")
    await sotw.quiet()
    await sotw.ack(reply)
    assert (await sotw.next(EDS)).names == ["b"]


async def test_stale_nonce_delta(incremental: Client, world: World) -> None:
    """D: a stale nonce answers nothing, but its subscriptions count."""
    old = await incremental.get(EDS, "a")
    await world.commit(upstream("a", port=9100))
    new = await incremental.recv(EDS)
    await incremental.send_delta(EDS, response_nonce=old.nonce)
    await incremental.quiet()
    incremental.asked[EDS].asked_since = incremental.asked[EDS].names = frozenset({"a", "b"})
    await incremental.send_delta(EDS, response_nonce=old.nonce, resource_names_subscribe=["b"])
    await incremental.quiet()
    await incremental.ack(new)
    assert (await incremental.next(EDS)).names == ["b"]


async def test_subscribe_without_nonce(incremental: Client) -> None:
    """D: a request without a nonce that subscribes is answered with those names."""
    await incremental.get(EDS, "a")
    await incremental.ask(EDS, "a", "b")
    assert (await incremental.next(EDS)).names == ["b"]


async def test_old_nonce_on_a_new_stream(client: Client) -> None:
    """A new stream may bring an old nonce and version: accepted and answered."""
    client.asked[CDS] = Asked(active=True)
    if client.delta:
        await client.send_delta(CDS, response_nonce="77")
    else:
        await client.send_sotw(CDS, response_nonce="77", version_info="0123456789abcdef")
    assert (await client.next(CDS)).names == ["a", "b"]
    await client.quiet()


async def test_one_response_in_flight(client: Client, world: World) -> None:
    """While a response is unanswered, changes of its type wait and coalesce; other types do not wait."""
    await client.get(LDS)
    await client.ask(RDS, "brownout")
    first = await client.recv(RDS)
    for index in range(5):
        await world.commit(endpoint(f"c{index}", "a"))
    await client.get(CDS)
    await client.quiet()
    await client.ack(first)
    newest = await client.next(RDS)
    assert b"/c4" in newest.resources["brownout"]
    await client.quiet()
