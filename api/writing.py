"""YAML that goes out: what an export prints."""

import io
import re
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.representer import SafeRepresenter

from api.bodies import JSON, YAML_TYPES

_SPECIAL = re.compile(
    r"[^\t\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)


class _Representer(SafeRepresenter):
    """Writes line breaks and control characters as escapes: other styles would fold or lose them."""

    def represent_str(self, data: str) -> Any:
        return self.represent_scalar("tag:yaml.org,2002:str", data, '"' if _SPECIAL.search(data) else None)


_Representer.add_representer(str, _Representer.represent_str)


def to_yaml(content: Any) -> bytes:
    """A document in block style, keys in the given order, as people read and version it."""
    emitter = YAML(typ="safe", pure=True)
    emitter.Representer = _Representer
    emitter.default_flow_style = False
    emitter.sort_base_mapping_type_on_output = False  # type: ignore[assignment]  # declared None, its default
    emitter.allow_unicode = True
    emitter.width = 110
    stream = io.BytesIO()
    emitter.dump(content, stream)
    return stream.getvalue()


def prefers_json(accept: str) -> bool:
    """Whether an `Accept` header names JSON with a higher weight than YAML; YAML is the default."""
    weights: dict[str, float] = {}
    for item in accept.split(","):
        media_type, *parameters = (part.strip().lower() for part in item.split(";"))
        weight = 1.0
        for parameter in parameters:
            if parameter.startswith("q="):
                try:
                    weight = float(parameter[2:])
                except ValueError:
                    weight = 0.0
        weights[media_type] = weight
    as_yaml = max((weights[each] for each in YAML_TYPES if each in weights), default=0.0)
    return weights.get(JSON, 0.0) > as_yaml
