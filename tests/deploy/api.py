"""The methods of the template's API, each with the function that it calls.

They stand in the API's definition, not among the events of functions: SAM makes a permission of each event, which is
most of the resources that a stack may have.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

ANY = "x-amazon-apigateway-any-method"
INTEGRATION = "x-amazon-apigateway-integration"
STREAM = "STREAM"
# A function, or the alias that leads to one of its versions.
TARGET = re.compile(r"/functions/\$\{(\w+)\.Arn\}(?::live)?/")
STREAMED = ("2021-11-15/", "/response-streaming-invocations")
ORDINARY = ("2015-03-31/", "/invocations")


@dataclass(frozen=True)
class Method:
    path: str
    # ANY for the methods that no other entry of the path has.
    name: str
    # The function's name in the template.
    function: str
    streams: bool
    # What the API calls the function with.
    credentials: object


def definition(template: dict) -> dict:
    """Paths, of the template as it is written or as it is expanded."""
    properties = template["Resources"]["Api"]["Properties"]
    return (properties.get("DefinitionBody") or properties.get("Body") or {}).get("paths", {})


def methods(template: dict) -> list[Method]:
    return [
        Method(
            path,
            "ANY" if name == ANY else name.upper(),
            TARGET.search(method[INTEGRATION]["uri"]["Fn::Sub"]).group(1),
            method[INTEGRATION].get("responseTransferMode") == STREAM,
            method[INTEGRATION].get("credentials"),
        )
        for path, entries in definition(template).items()
        for name, method in entries.items()
    ]


def streams(template: dict) -> set[str]:
    """Paths of which a response streams."""
    return {method.path for method in methods(template) if method.streams}


def without_streams(template: dict) -> None:
    """Makes ordinary methods of those whose responses stream."""
    for entries in definition(template).values():
        for method in entries.values():
            integration = method[INTEGRATION]
            if integration.pop("responseTransferMode", None) != STREAM:
                continue
            del integration["timeoutInMillis"]
            uri = integration["uri"]["Fn::Sub"]
            for streamed, ordinary in zip(STREAMED, ORDINARY, strict=True):
                uri = uri.replace(streamed, ordinary)
            integration["uri"] = {"Fn::Sub": uri}
