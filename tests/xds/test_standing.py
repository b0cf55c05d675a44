"""How a fleet stands."""

from dataclasses import dataclass

from xds_server.standing import Standing


@dataclass(eq=False)
class Node:
    """A node whose standpoint a test decides, and which counts how often it is looked at."""

    has_all: bool = True
    rejecting: bool = False
    looks: int = 0

    @property
    def current(self) -> bool:
        self.looks += 1
        return self.has_all


def test_counts() -> None:
    """Nodes count as they are when somebody asks."""
    standing: Standing[Node] = Standing()
    one, two = Node(), Node(has_all=False, rejecting=True)
    standing.add(one)
    standing.add(two)
    assert (len(standing), standing.current, standing.rejecting) == (2, 1, 1)
    two.has_all, two.rejecting = True, False
    standing.changed(two)
    assert (standing.current, standing.rejecting) == (2, 0)
    standing.remove(one)
    standing.changed(one)
    assert (len(standing), standing.current) == (1, 1)


def test_cost() -> None:
    """Only those that changed are looked at again."""
    standing: Standing[Node] = Standing()
    nodes = [Node() for _ in range(1000)]
    for node in nodes:
        standing.add(node)
    for node in nodes:
        standing.changed(node)
        assert standing.current == 1000
    assert max(node.looks for node in nodes) <= 2
