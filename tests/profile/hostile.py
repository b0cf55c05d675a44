"""Kinds of documents that a careless reader would spend ever more time or memory on, of any length."""

from collections.abc import Callable


def laughs(levels: int, width: int) -> str:
    """Every level is a list of aliases of the one before."""
    lines = [f"- &a0 [{', '.join(['x'] * width)}]"]
    lines += [f"- &a{n} [{', '.join([f'*a{n - 1}'] * width)}]" for n in range(1, levels)]
    return "\n".join(lines)


_TEXTS: dict[str, Callable[[int], str | bytes]] = {
    "plain": lambda n: "- some: text\n" * (n // 13),
    "alias bomb, wide": lambda n: laughs(3, n // 3),
    "alias bomb, long": lambda n: laughs(n // 20, 2),
    "aliases": lambda n: "a: &a x\nb: [" + "*a," * (n // 3) + "]",
    "anchors": lambda n: "".join(f"- &a{i} x\n" for i in range(n // 10)),
    "merges": lambda n: "a: &a {x: 1}\n" + "".join(f"b{i}: {{<<: *a}}\n" for i in range(n // 16)),
    "merge chain": lambda n: (
        "a0: &a0 {x: 1}\n" + "".join(f"a{i}: &a{i} {{<<: *a{i - 1}, k{i}: 1}}\n" for i in range(1, n // 32))
    ),
    "merge lists": lambda n: "a: &a {x: 1}\nb: {<<: [" + "*a," * (n // 3) + "]}",
    "[": lambda n: "[" * n,
    "[ after a key": lambda n: "a: " + "[" * n,
    "{ after a key": lambda n: "a: " + "{" * n,
    "{": lambda n: '{"a":' * (n // 5),
    "- ": lambda n: "- " * (n // 2),
    "? ": lambda n: "? " * (n // 2),
    "[]": lambda n: "[" + "[]," * (n // 3) + "]",
    "flow keys": lambda n: "{" + "".join(f"k{i}: 1, " for i in range(n // 8)) + "}",
    "json keys": lambda n: "{" + ",".join(f'"k{i}": 1' for i in range(n // 10)) + "}",
    "duplicates": lambda n: "{" + ",".join('"k": 1' for i in range(n // 7)) + "}",
    "yaml duplicates": lambda n: "k: 1\n" * (n // 5),
    "number json": lambda n: '{"seed": ' + "9" * n + "}",
    "number yaml": lambda n: "seed: " + "9" * n,
    "hex": lambda n: "seed: 0x" + "f" * n,
    "float": lambda n: '{"percent": 0.' + "9" * n + "}",
    "float yaml": lambda n: "percent: 0." + "9" * n,
    "exponent": lambda n: '{"percent": 1e' + "9" * n + "}",
    "underscores": lambda n: "seed: 1" + "_1" * (n // 2),
    "sexagesimal": lambda n: "seed: 1" + ":1" * (n // 2),
    "nul": lambda n: "a: " + "x" * n + "\0",
    "nul escapes": lambda n: '{"a": "' + "\\u0000" * (n // 6) + '"}',
    "bad utf8": lambda n: b"a: " + b"x" * n + b"\xff",
    "surrogates": lambda n: '{"a": "' + "\\ud800" * (n // 6) + '"}',
    "long text": lambda n: "a: " + "x" * n,
    "long key": lambda n: "x" * n + ": 1",
    "words": lambda n: "a: " + "x " * (n // 2),
    "folded": lambda n: "a: >\n" + "  x\n" * (n // 4),
    "literal": lambda n: "a: |\n" + "  x\n" * (n // 4),
    "quoted": lambda n: 'a: "' + "x\n\n " * (n // 4) + '"',
    "escapes": lambda n: 'a: "' + "\\x41" * (n // 4) + '"',
    "single": lambda n: "a: '" + "''" * (n // 2) + "'",
    "comments": lambda n: "# x\n" * (n // 4) + "a: 1",
    "blank": lambda n: "\n" * n + "a: 1",
    "spaces": lambda n: " " * n + "a: 1",
    "tabs": lambda n: "a:" + "\t" * n + "1",
    "nel": lambda n: 'a: "' + "\x85" * (n // 2) + '"',
    "directives": lambda n: "%FOO x\n" * (n // 7) + "---\na: 1",
    "tags": lambda n: "- !!str x\n" * (n // 10),
    "long tag": lambda n: "a: !<" + "x" * n + "> 1",
    "documents": lambda n: "---\na\n" * (n // 6),
    "duration": lambda n: (
        '{"responses":[{"status":200,"resolution":1,"distribution":{"p0":"' + "1h" * (n // 2) + '"}}]}'
    ),
    "duration digits": lambda n: (
        '{"responses":[{"status":200,"resolution":1,"distribution":{"p0":"' + "1" * n + 's"}}]}'
    ),
    "duration fraction": lambda n: (
        '{"responses":[{"status":200,"resolution":1,"distribution":{"p0":"0.' + "1" * n + 's"}}]}'
    ),
    "percentiles": lambda n: (
        '{"responses":[{"status":200,"resolution":1,"distribution":{'
        + ",".join(f'"p{i / 10000}":"1s"' for i in range(n // 15))
        + "}}]}"
    ),
    "percentile digits": lambda n: (
        '{"responses":[{"status":200,"resolution":1,"distribution":{"p0.' + "1" * n + '":"1s"}}]}'
    ),
    "responses": lambda n: (
        '{"responses":['
        + ",".join(['{"status":200,"resolution":1,"distribution":{"p0":"1s"}}'] * (n // 56))
        + "]}"
    ),
    "endpoints": lambda n: (
        '{"endpoints":['
        + ",".join(['{"responses":[{"status":200,"resolution":1,"distribution":{"p0":"1s"}}]}'] * (n // 72))
        + "]}"
    ),
    "headers": lambda n: (
        '{"responses":[{"status":200,"resolution":1,"distribution":{"p0":"1s"},"local_response":{"headers":['
        + ",".join(f'["x-{i}","y"]' for i in range(n // 14))
        + "]}}]}"
    ),
    "conditions": lambda n: (
        '{"endpoints":[{"match":{"headers":['
        + ",".join(f'{{"name":"x-{i}","present_match":true}}' for i in range(n // 38))
        + ']},"responses":[{"status":200,"resolution":1,"distribution":{"p0":"1s"}}]}]}'
    ),
    "unknown": lambda n: '{"responses":[' + ",".join('{"x":1}' for i in range(n // 8)) + "]}",
    "expires": lambda n: '{"expires_at":"2030-01-01T00:00:00.' + "1" * n + 'Z"}',
    "colons": lambda n: "a" + ":" * n,
    "a:a:": lambda n: "a: " * (n // 3),
    "commas": lambda n: "[" + "," * n + "]",
    "quotes": lambda n: '"' * n,
    "stars": lambda n: "*a " * (n // 3),
    "amps": lambda n: "&a " * (n // 3),
    "bangs": lambda n: "! " * (n // 2),
    "dashes": lambda n: "-" * n,
    "json deep keys": lambda n: "[" + '{"a":1},' * (n // 8) + "1]",
    "bad json": lambda n: '{"a": [' + "1," * (n // 2) + "}",
}


def _encoded(text: Callable[[int], str | bytes]) -> Callable[[int], bytes]:
    def encoded(size: int) -> bytes:
        data = text(size)
        return data if isinstance(data, bytes) else data.encode()

    return encoded


KINDS = {name: _encoded(text) for name, text in _TEXTS.items()}
"""Documents of about so many bytes, by kind."""
