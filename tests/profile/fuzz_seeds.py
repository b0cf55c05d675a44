"""What the fuzzer begins with: valid documents of every shape, hostile ones, and pieces of both."""

import json
from typing import Any

from tests.profile.hostile import laughs
from tests.profile.samples import LOAD_BASED, PROFILE, RESPONSE

LOCAL: dict[str, Any] = {"body": "x", "headers": [["content-type", "a/b"], {"name": "x", "value": ""}]}
ERROR: dict[str, Any] = {"status": 503, "resolution": 1, "distribution": {"p0": "0s", "p99.9": "1h2m3.5s"}}
BINDING: dict[str, Any] = {
    "percent": 12.5,
    "expires_at": "2030-01-31T18:00:00Z",
    "label": "a@1",
    "headers": False,
    "endpoint": "e/a",
    "override": "upstream_response",
    "seed": 7,
}
MATCH: dict[str, Any] = {
    "prefix": "/a",
    "exact": "/a",
    "headers": [{"name": "Host", "exact_match": "b"}, {"name": "x", "present_match": True}],
}
DOCUMENTS: list[dict[str, Any]] = [
    PROFILE,
    {"responses": [RESPONSE, {**ERROR, "local_response": LOCAL}]},
    {"responses": [ERROR], **BINDING},
    {"load_based": {**LOAD_BASED, "scope": "endpoint"}, "diagnostic": False},
    {"endpoints": [{"match": MATCH, **PROFILE}], "probability_distribution": "stateless", "halted": True},
    {"halted": False},
]
SEEDS = [
    *(json.dumps(document).encode() for document in DOCUMENTS),
    b"responses:\n- &a\n  status: 0xC8\n  resolution: !!int 10\n  distribution: &d {p50: 2ms, 'p99': '1s'}\n",
    b"%YAML 1.2\n---\nresponses: [{<<: {status: 503}, distribution: {p0: 1s}, resolution: 1}]\n...\n",
    b"local_response: {body: |\n  text\n}\n",
    b"? diagnostic\n: &a [1, *b]\n",
    laughs(9, 9).encode(),
    laughs(40, 2).encode(),
    b"a: &a {k: 1}\nb: &b {<<: [*a, *a, *a]}\nc: {<<: [*b, *b, *b]}\n",
    b"[" * 300,
    b'{"responses":' * 60,
    b"- " * 300,
    b'{"seed": ' + b"9" * 600 + b"}",
    b"percent: 1e" + b"9" * 600,
    b"seed: 0x" + b"f" * 600,
    b"label: a\0b\n",
    b'{"label": "\\u0000\\ud800"}',
    b"label: \xc3\x28\xed\xa0\x80\xf8\x88\n",
]
WORDS = """
status resolution distribution local_response body headers name value responses load_based healthy
tipping_point threshold_in_flight grey_zone scope endpoints match prefix exact exact_match present_match
percent expires_at label probability_distribution diagnostic override seed halted p50 p99.9 p100.1 Host :path
te x-fault-a content-type null ~ true on NaN -Infinity .inf 1e999 1e+15 -0 0x1F 200 1099511627777 "12.5" 1.5h
-1s 9223372036854775808ns stateless
"""
TOKENS = [
    *WORDS.encode().split(),
    *(
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b": ",
        b'"',
        b"'",
        b"\n",
        b"\n- ",
        b"  ",
        b"\t",
        b"? ",
        b"<<: ",
        b"&a ",
    ),
    *(b"*a", b"---\n", b"...", b"!!str ", b"!x ", b"|\n", b">-\n", b"# ", b"%YAML 1.2\n", b"9" * 30),
    *(
        b"\\u0000",
        b"\\ud800",
        b"\\x07",
        b"\0",
        b"\xff",
        b"\xc3\x28",
        b"\xed\xa0\x80",
        b"\xef\xbb\xbf",
        b"\xc2\x85",
        "µs".encode(),
    ),
]
