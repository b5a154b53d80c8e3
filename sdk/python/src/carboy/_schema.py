"""A tool's parameters as JSON Schema, for model interfaces that want tools described so."""

from __future__ import annotations

from inspect import Parameter
from typing import Any

from ._annotations import Kind, fields_of, kind_of
from ._tools import Tool, ToolLike

_SCALARS = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "none": {"type": "null"},
}


def schema(tool: ToolLike) -> dict[str, Any]:
    """The schema of an object with the tool's parameters by name.

    `*args` cannot be passed by name and is left out. What an annotation says that is not known here
    lets anything pass, as it does when the tool is called.
    """
    tool = tool if isinstance(tool, Tool) else Tool(tool)
    properties: dict[str, Any] = {}
    required: list[str] = []
    more: Any = False
    for name, parameter in tool.signature.parameters.items():
        kind = kind_of(parameter.annotation)
        if parameter.kind is Parameter.VAR_POSITIONAL:
            continue
        if parameter.kind is Parameter.VAR_KEYWORD:
            more = _of(kind, ()) or True
            continue
        properties[name] = _of(kind, ())
        if parameter.default is Parameter.empty:
            required.append(name)
        elif parameter.default is None or type(parameter.default) in (bool, int, float, str):
            properties[name] = {**properties[name], "default": parameter.default}
    return _object(properties, required, more)


def _object(properties: dict[str, Any], required: list[str], more: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": more,
    }


def _of(kind: Kind, inside: tuple[Any, ...]) -> dict[str, Any]:
    """The schema of one kind. `inside` are the records around it: one in itself is left open."""
    body = _bare(kind, inside)
    return {**body, "description": kind.note} if kind.note else body


def _bare(kind: Kind, inside: tuple[Any, ...]) -> dict[str, Any]:
    shape, parts = kind.shape, kind.parts
    if shape in _SCALARS:
        return dict(_SCALARS[shape])
    if shape == "list":
        return {"type": "array", "items": _of(parts[0], inside)}
    if shape == "tuple" and kind.values:
        length = kind.values[0]
        items = [_of(part, inside) for part in parts]
        return {"type": "array", "prefixItems": items, "minItems": length, "maxItems": length}
    if shape == "tuple":
        return {"type": "array", "items": _of(parts[0], inside)}
    if shape == "dict":
        return {"type": "object", "additionalProperties": _of(parts[1], inside) or True}
    if shape == "union":
        return {"anyOf": [_of(part, inside) for part in parts]}
    if shape == "literal":
        return {"enum": list(kind.values)}
    if shape == "enum":
        return {"enum": [member.value for member in kind.source]}
    if shape == "record" and kind.source not in inside:
        fields = fields_of(kind.source)
        properties = {field.name: _of(field.kind(), (*inside, kind.source)) for field in fields}
        return _object(properties, [field.name for field in fields if field.required], False)
    return {}
