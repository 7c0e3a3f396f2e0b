"""Checks that a change of any single parameter reaches every function that reads it, and can be deployed.

Three functions are called by an alias, which leads to a published version. SAM names a version by all properties of its
function. So a parameter must change the name and what Lambda publishes, or neither: with the name alone,
CloudFormation publishes what has been published, which Lambda refuses ("A version for this Lambda function exists"); with the
properties alone, the alias keeps the old ones, and nobody notices.
"""

from __future__ import annotations

import copy
import re

from check_room import holds
from expansion import defaults, expand_for, of_type

# Properties of a function that are no part of what is published.
UNPUBLISHED = {"ReservedConcurrentExecutions", "Tags"}
# Parameters without another valid value that follows from their declaration.
OTHER_VALUES = {
    "AlarmTopic": "arn:aws:sns:us-east-1:123456789012:alarms",
    "AnthropicBaseUrl": "https://anthropic.example.com",
    "BedrockInferenceProfiles": "model=profile",
    "BedrockRegion": "eu-west-1",
    "ControlSources": "198.51.100.7/32",
    "CorsOrigins": "https://app.example.com",
    "DefaultAgent": "claude-code",
    "EnvironmentImages": "ghcr.io/acme/",
    "KmsKeyArn": "arn:aws:kms:us-east-1:123456789012:key/1",
    "LogFilter": "debug",
    "OpenaiBaseUrl": "https://openai.example.com",
    "PermissionsBoundary": "arn:aws:iam::123456789012:policy/boundary",
    "PricesLayer": "arn:aws:lambda:us-east-1:123456789012:layer:prices:1",
    "PrivateHosts": "registry.internal,10.20.0.0/16",
    "RunnerImage": "123456789012.dkr.ecr.us-east-1.amazonaws.com/awo@sha256:0",
    "SubnetIds": "subnet-1,subnet-2",
    "SecurityGroupIds": "sg-1",
    "FileSystemId": "fs-1",
    "NetworkPrefix": "172.20",
    "Zones": "us-east-1b,us-east-1c",
}
# Some are read only together with others.
TOGETHER = {
    "BedrockInferenceProfiles": {"BedrockRegion": "eu-west-1"},
    "FileSystemId": {"SubnetIds": "subnet-1", "SecurityGroupIds": "sg-1"},
    "SecurityGroupIds": {"SubnetIds": "subnet-1"},
    "SubnetIds": {"SecurityGroupIds": "sg-1"},
}


def other_value(name: str, parameter: dict) -> object:
    """A valid value that is not the default."""
    if name in OTHER_VALUES:
        return OTHER_VALUES[name]
    if "AllowedValues" in parameter:
        return next(value for value in parameter["AllowedValues"] if value != parameter["Default"])
    if parameter["Type"] == "Number":
        return parameter["Default"] + 1
    raise KeyError(f"{name} needs another value in OTHER_VALUES")


def settled(node: object, template: dict, parameters: dict) -> object:
    """A part of the template with the parameters of a stack."""
    if isinstance(node, list):
        return [settled(part, template, parameters) for part in node]
    if not isinstance(node, dict):
        return node
    if node.get("Ref") in parameters:
        return str(parameters[node["Ref"]])
    if "Fn::If" in node:
        condition, first, second = node["Fn::If"]
        return settled(first if holds(condition, template, parameters) else second, template, parameters)
    if isinstance(node.get("Fn::Sub"), str):
        known = lambda match: str(parameters.get(match.group(1), match.group(0)))  # noqa: E731
        return {"Fn::Sub": re.sub(r"\$\{([A-Za-z]+)\}", known, node["Fn::Sub"])}
    return {key: settled(value, template, parameters) for key, value in node.items()}


def with_aliases(template: dict) -> dict:
    """The template with these functions and the API alone: the whole one takes seconds for each value."""
    kept = {name: r for name, r in template["Resources"].items() if "AutoPublishAlias" in r.get("Properties", {})}
    kept["Api"] = copy.deepcopy(template["Resources"]["Api"])
    paths = kept["Api"]["Properties"]["DefinitionBody"]["paths"]
    kept["Api"]["Properties"]["DefinitionBody"]["paths"] = dict([next(iter(paths.items()))])
    return {key: value for key, value in template.items() if key != "Outputs"} | {"Resources": kept}


def published(template: dict, parameters: dict) -> dict[str, tuple[str, object]]:
    """Of each function with an alias: the name of its version, and what Lambda publishes. The same of the API."""
    expanded = expand_for(template, parameters)
    whole = defaults(template) | parameters
    found = {}
    for alias in of_type(expanded, "AWS::Lambda::Alias").values():
        function, version = alias["FunctionName"]["Ref"], alias["FunctionVersion"]["Fn::GetAtt"][0]
        properties = expanded["Resources"][function]["Properties"]
        properties = {name: value for name, value in properties.items() if name not in UNPUBLISHED}
        found[function] = version, settled(properties, template, whole)
    (deployment,) = of_type(expanded, "AWS::ApiGateway::Deployment")
    # Callers get what was deployed last, such as the policy.
    found["Api"] = deployment, settled(expanded["Resources"]["Api"]["Properties"]["Body"], template, whole)
    return found


def check(template: dict) -> list[str]:
    faults, known, template = [], {}, with_aliases(template)
    for name, parameter in template["Parameters"].items():
        others = TOGETHER.get(name, {})
        before = known.setdefault(str(others), published(template, others))
        after = published(template, others | {name: other_value(name, parameter)})
        for function, (version, properties) in after.items():
            old_version, old_properties = before[function]
            if version != old_version and properties == old_properties and function != "Api":
                faults.append(f"{name}: a change of it alone publishes {function} as it is, which Lambda refuses")
            if version == old_version and properties != old_properties:
                faults.append(f"{name}: a change of it alone does not reach {function}, which stays as it was published")
    if len(before) < 2:
        faults.append("no function has an alias")
    print(f"    {len(template['Parameters'])} parameters changed one by one, {len(before) - 1} functions with an alias")
    return faults
