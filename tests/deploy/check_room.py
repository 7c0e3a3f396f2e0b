"""Checks what a stack has room for: resources, bytes, paths, policies; today, and with more routes.

CloudFormation creates only resources whose condition holds, so the largest of all variants counts.
"""

from __future__ import annotations

import copy
import itertools
import json
from collections import Counter

import api
from expansion import expand, of_type

# CloudFormation's, API Gateway's, Lambda's and IAM's.
MAX_RESOURCES = 500
MAX_TEMPLATE_BYTES = 1_000_000
MAX_API_RESOURCES = 300
MAX_FUNCTION_POLICY_BYTES = 20_480
MAX_ROLE_POLICY_BYTES = 10_240
# This project's own, so that the limits above are never near.
MOST_RESOURCES = 350
MORE_ROUTES = 60
# The function whose likes are added.
MODEL = "GetRun"
# Values of the parameters that conditions depend on.
CHOICES = {
    "Network": ["Nat", "NatPerZone", "Public"],
    "SubnetIds": ["", "subnet-1,subnet-2"],
    "FileSystemId": ["", "fs-1"],
    "Archives": ["On", "Off"],
    "ShowDashboard": ["On", "Off"],
    "BedrockRegion": ["", "eu-west-1"],
    "ApiLogRole": ["Existing", "Create"],
    "RunnerImage": ["", "image"],
    "PricesLayer": ["", "arn:layer"],
    "AlarmTopic": ["", "arn:topic"],
}


def holds(condition: object, template: dict, parameters: dict) -> bool:
    """Whether a condition holds with these parameters."""
    if isinstance(condition, str):
        condition = {"Condition": condition}
    ((name, value),) = condition.items()

    def text(part: object) -> str:
        return str(parameters[part["Ref"]]) if isinstance(part, dict) else str(part)

    match name:
        case "Condition":
            return holds(template["Conditions"][value], template, parameters)
        case "Fn::Equals":
            return text(value[0]) == text(value[1])
        case "Fn::Not":
            return not holds(value[0], template, parameters)
        case "Fn::And":
            return all(holds(part, template, parameters) for part in value)
        case "Fn::Or":
            return any(holds(part, template, parameters) for part in value)
    raise ValueError(f"{name} is no condition")


def variants(template: dict):
    """Every combination of the parameters that decide which resources there are."""
    defaults = {name: parameter.get("Default", "") for name, parameter in template["Parameters"].items()}
    for values in itertools.product(*CHOICES.values()):
        yield defaults | dict(zip(CHOICES, values, strict=True))


def resources(expanded: dict) -> tuple[int, dict]:
    """The number of resources of the largest variant, and its parameters."""

    def count(parameters: dict) -> int:
        conditions = (resource.get("Condition") for resource in expanded["Resources"].values())
        return sum(condition is None or holds(condition, expanded, parameters) for condition in conditions)

    largest = max(variants(expanded), key=count)
    return count(largest), {name: largest[name] for name in CHOICES if largest[name]}


def unchosen(expanded: dict) -> list[str]:
    """Parameters that decide about resources and are not among the choices."""
    parameters: set[str] = set()

    def collect(node: object) -> None:
        if isinstance(node, dict):
            for key, value in node.items():
                if key == "Ref":
                    parameters.add(value)
                elif key == "Condition" and isinstance(value, str):
                    collect(expanded["Conditions"][value])
                else:
                    collect(value)
        elif isinstance(node, list):
            for part in node:
                collect(part)

    for resource in expanded["Resources"].values():
        if "Condition" in resource:
            collect({"Condition": resource["Condition"]})
    return [f"{name}: decides about resources; add its values to CHOICES" for name in sorted(parameters - set(CHOICES))]


def with_more_routes(template: dict) -> dict:
    """The template with as many functions more, each with one route, as this project wants room for."""
    grown = copy.deepcopy(template)
    (path,) = {method.path for method in api.methods(template) if method.function == MODEL} or {None}
    paths = api.definition(grown)
    for number in range(MORE_ROUTES):
        name = f"{MODEL}{number}"
        function = copy.deepcopy(template["Resources"][MODEL])
        function["Properties"]["FunctionName"] = {"Fn::Sub": f"${{AWS::StackName}}-{name.lower()}"}
        for event in function["Properties"].get("Events", {}).values():
            event["Properties"]["Path"] += f"/more{number}"
        grown["Resources"][name] = function
        if path is not None:
            text = json.dumps(paths[path]).replace(f"${{{MODEL}.", f"${{{name}.")
            paths[f"{path}/more{number}"] = json.loads(text)
    return grown


def function_policies(expanded: dict) -> Counter:
    """Bytes of each function's permissions, which Lambda stores as one document, with names of a real stack's length."""
    sizes: Counter = Counter()
    function_arn = "arn:aws:lambda:ap-southeast-2:123456789012:function:" + "f" * 40
    for name, properties in of_type(expanded, "AWS::Lambda::Permission").items():
        path = json.dumps(properties.get("SourceArn", ""))
        source = "arn:aws:execute-api:ap-southeast-2:123456789012:abcdefghij/*/*" + path[: len(path) // 2]
        statement = {
            "Sid": f"agent-work-orders-{name}-ABCDEFGHIJKL",
            "Effect": "Allow",
            "Principal": {"Service": properties["Principal"]},
            "Action": "lambda:InvokeFunction",
            "Resource": function_arn,
            "Condition": {"ArnLike": {"AWS:SourceArn": source}},
        }
        target = properties["FunctionName"]
        sizes[target.get("Ref") or target["Fn::GetAtt"][0]] += len(json.dumps(statement, separators=(",", ":"))) + 1
    return sizes


def role_policies(expanded: dict) -> Counter:
    """Bytes of each role's own policies, without the names that references become."""
    sizes: Counter = Counter()
    for name, properties in of_type(expanded, "AWS::IAM::Role").items():
        for policy in properties.get("Policies", []):
            sizes[name] += len(json.dumps(policy["PolicyDocument"], separators=(",", ":")))
    return sizes


def api_resources(expanded: dict) -> int:
    """Nodes of the tree of paths, of which an API has a limited number."""
    nodes: set[str] = set()
    for path in api.definition(expanded):
        parts = path.strip("/").split("/")
        nodes |= {"/".join(parts[:length]) for length in range(1, len(parts) + 1)}
    return len(nodes)


def beyond(expanded: dict, when: str) -> list[str]:
    """Limits that a template exceeds."""
    count, variant = resources(expanded)
    sizes = {
        "resources": (count, MAX_RESOURCES),
        "bytes after expansion": (len(json.dumps(expanded, separators=(",", ":"))), MAX_TEMPLATE_BYTES),
        "resources of the API": (api_resources(expanded), MAX_API_RESOURCES),
    }
    for what, policies, limit in (
        ("bytes of permissions", function_policies(expanded), MAX_FUNCTION_POLICY_BYTES),
        ("bytes of policies", role_policies(expanded), MAX_ROLE_POLICY_BYTES),
    ):
        for name, size in policies.most_common(1):
            sizes[f"{what} of {name}"] = (size, limit)
    print(f"    {when}, the largest variant {variant}: " + ", ".join(f"{n} {what} of {m}" for what, (n, m) in sizes.items()))
    return [f"{when}: {size} {what}, above {limit}" for what, (size, limit) in sizes.items() if size > limit]


def crowded(expanded: dict) -> list[str]:
    """More than this project allows itself."""
    faults = []
    count, variant = resources(expanded)
    if count > MOST_RESOURCES:
        faults.append(f"{count} resources with {variant}; at most {MOST_RESOURCES} leave room")
    permissions = Counter()
    for properties in of_type(expanded, "AWS::Lambda::Permission").values():
        target = properties["FunctionName"]
        permissions[target.get("Ref") or target["Fn::GetAtt"][0]] += 1
    return faults + [f"{name}: {n} permissions; one is enough" for name, n in permissions.items() if n > 1]


def uncallable(expanded: dict) -> list[str]:
    """Methods of the API that may not call their function."""
    functions, faults = of_type(expanded, "AWS::Lambda::Function"), []
    roles = of_type(expanded, "AWS::IAM::Role")
    for method in api.methods(expanded):
        where = f"{method.name} {method.path}"
        if method.function not in functions:
            faults.append(f"{where}: there is no function {method.function}")
            continue
        role = (method.credentials or {}).get("Fn::GetAtt", [None])[0]
        trusted = json.dumps(roles.get(role, {}).get("AssumeRolePolicyDocument", {}))
        grants = json.dumps(roles.get(role, {}).get("Policies", []))
        name = functions[method.function]["FunctionName"].get("Fn::Sub", "")
        if "apigateway.amazonaws.com" not in trusted or "lambda:InvokeFunction" not in grants:
            faults.append(f"{where}: the API has no role that may call {method.function}")
        elif not name.startswith("${AWS::StackName}-") or ":function:${AWS::StackName}-*" not in grants:
            faults.append(f"{where}: {role} may not call {name}")
    return faults


def check(template: dict, expanded: dict) -> list[str]:
    faults = unchosen(expanded) + crowded(expanded) + uncallable(expanded) + beyond(expanded, "today")
    return faults + beyond(expand(with_more_routes(template)), f"with {MORE_ROUTES} more routes")
