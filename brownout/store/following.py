"""Noticing what other processes commit (PostgreSQL: `LISTEN`, and a poll for what was missed)."""

import asyncio
import logging
from collections.abc import AsyncGenerator

import psycopg
from psycopg.conninfo import make_conninfo
from sqlalchemy.engine import URL

CHANNEL = "brownout"
"""The notification channel; every commit notifies, with the number of its newest revision."""

_log = logging.getLogger(__name__)
# A peer that is gone without a word is noticed within half a minute; the poll bridges that.
_KEEPALIVE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 3, "connect_timeout": 5}


async def occasions(url: URL, *, poll_seconds: float) -> AsyncGenerator[None, None]:
    """Yield whenever the database may have something new, at least every `poll_seconds`; never ends.

    A connection that breaks is made again; meanwhile there are only polls.
    """
    plain = url.set(drivername="postgresql").render_as_string(hide_password=False)
    address = make_conninfo(plain, **_KEEPALIVE)
    while True:
        try:
            async with await psycopg.AsyncConnection.connect(address, autocommit=True) as connection:
                await connection.execute(f"LISTEN {CHANNEL}")
                yield  # for what was committed before the database knew that somebody listens
                while True:
                    async for _ in connection.notifies(timeout=poll_seconds, stop_after=1):
                        pass
                    yield
        except psycopg.OperationalError as error:
            _log.warning(
                "not listening for changes, polling every %g s: %s", poll_seconds, str(error).strip()
            )
        yield
        await asyncio.sleep(poll_seconds)
