"""From published catalogs to streams: the compiler's thread, and what the loop does with its result."""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor

from brownout.domain import Catalog
from xds_server.compiler import Compiler
from xds_server.hub import Hub
from xds_server.metrics import Metrics
from xds_server.registry import Registry

_log = logging.getLogger(__name__)


class Publisher:
    """Compiles the newest catalog in a thread of its own, so that the loop never waits; bursts coalesce."""

    def __init__(self, hub: Hub, registry: Registry, metrics: Metrics) -> None:
        self._hub = hub
        self._registry = registry
        self._metrics = metrics
        self._compiler = Compiler()
        self._latest: Catalog | None = None
        self._news = asyncio.Event()

    def publish(self, catalog: Catalog) -> None:
        """Deliver a catalog. Bindings and halts in it hold at once, the rest when it has been compiled."""
        self._latest = catalog
        self._hub.bind(catalog.fleets)
        self._hub.halt(catalog.halts)
        self._news.set()

    async def run(self) -> None:
        """Compile and deliver, for ever."""
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1, thread_name_prefix="brownout-compile") as thread:
            while True:
                await self._news.wait()
                self._news.clear()
                catalog = self._latest
                if catalog is None:
                    continue
                started = loop.time()
                try:
                    programs = await loop.run_in_executor(
                        thread, self._compiler.compile, catalog, self._hub.nodes, self._hub.halted
                    )
                except Exception:  # noqa: BLE001 (what is being served goes on)
                    _log.exception("revision %d cannot be compiled; the one before stays", catalog.revision)
                    continue
                self._metrics.compile.observe(loop.time() - started)
                self._metrics.problems.set(sum(len(each.problems) for each in programs.values()))
                for channel in self._hub.publish(programs, catalog.revision):
                    # Whoever has nothing to get has just got to a newer revision.
                    up_to_date = (each for each in self._registry.sessions(channel.name) if each.current)
                    self._registry.tell("acknowledged", up_to_date)
