"""YAML that goes out: what an export prints."""

import io
from typing import Any

from ruamel import yaml

from api.bodies import JSON, YAML_TYPES


def to_yaml(content: Any) -> bytes:
    """A document in block style, keys in the given order, as people read and version it."""
    emitter = yaml.YAML(typ="safe", pure=True)
    emitter.default_flow_style = False  # type: ignore[assignment]  # ruamel declares its default, None
    emitter.sort_base_mapping_type_on_output = False
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
