"""Checks template.yaml without an account, a network or a credential.

cfn-lint and `sam validate` look at the template as it is written, and both miss references
that dangle inside SAM's `Policies` and `Events`. So it is expanded as CloudFormation would
expand it, and every reference of the result is resolved here. Then the rules that this
deployment keeps: which variables a function sees, what a role may do, what a stack may hold.

Routes are those of docs/openapi.json; with the code's own table, and variables with what each
function reads, they are compared by tests in Rust.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from samcli.lib.cfn_language_extensions.exceptions import InvalidTemplateException
from samtranslator.model.exceptions import InvalidDocumentException

import api
import check_operation
import check_parameters
import check_room
from expansion import AWS_MANAGED, REGION, ROOT, TEMPLATE, expand, extended, functions, load, of_type

# For one machine only: file repositories would let a caller read a function's disk, loopback
# webhooks would let one call what listens beside a function, and an endpoint would send calls with
# a role's signature to somebody else.
LOCAL_ONLY = re.compile(
    r"^(AWO_ALLOW_FILE_REPOSITORIES|AWO_GIT_CA_FILE|AWO_GITHUB_API_URL|AWO_BEDROCK_BASE_URL"
    r"|AWO_WEBHOOK_(ALLOW_LOOPBACK|CA_FILE|NAME_SERVER|RETRY_DELAYS_MS)|AWS_ENDPOINT_URL.*)$"
)
# What sets and deletes the values of environments' secrets may do; none of it reads one.
SECRET_WRITES = {
    "secretsmanager:CreateSecret",
    "secretsmanager:DeleteSecret",
    "secretsmanager:PutSecretValue",
    "secretsmanager:RestoreSecret",
}
# Actions that IAM cannot bind to a resource, with why that does no harm.
UNBOUND_ACTIONS = {
    "ecs:ListTasks": "bound to the cluster by its condition",
    "ecr:GetAuthorizationToken": "gives a token, not an image",
    "ecs:DescribeTaskDefinition": "ECS knows no resource for it, and a definition holds no secret",
    "ecs:ListTaskDefinitions": "ECS knows no resource for it, and it gives names",
    "ecs:DeregisterTaskDefinition": "ECS knows no resource for it; the sweep alone has it, and what it takes away is made again",
    "ecs:RegisterTaskDefinition": "ECS knows no resource for it; RunTask and PassRole bind what may run as whom",
}
# No code reads whole tables or writes past its conditions.
TABLE_ACTIONS = {f"dynamodb:{name}Item" for name in ("Get", "Put", "Update", "Delete", "BatchGet", "BatchWrite")} | {
    "dynamodb:Query"
}
SUB_NAME = re.compile(r"\$\{([^!}][^}]*)\}")


# Its own network of each kind, the first with everything as it is by default; one that is there; and one with a file system.
VARIANTS = [
    {},
    {"Network": "NatPerZone", "StreamConcurrency": 10, "ControlConcurrency": 10, "ApiLogRole": "Create"},
    {"BedrockRegion": "eu-west-1", "BedrockInferenceProfiles": "claude-sonnet-4-5=eu.anthropic.claude-sonnet-4-5-20250929-v1:0"},
    {"Network": "Public", "ControlSources": "198.51.100.7/32", "KmsKeyArn": "arn:aws:kms:us-east-1:123456789012:key/1"},
    {"SubnetIds": "subnet-1,subnet-2", "SecurityGroupIds": "sg-1", "ControlSources": "198.51.100.7/32"},
    {"SubnetIds": "subnet-1,subnet-2", "SecurityGroupIds": "sg-1", "FileSystemId": "fs-1", "DataOnDelete": "Delete"},
]


def is_of_environments(resource: object) -> bool:
    """True for the secrets of environments alone, whose names go on with `env/` after the organization."""
    return json.dumps(resource).rstrip('"}').endswith(":secret:${AWS::StackName}/org_*/env/*")


def is_of_git_hosts(resource: object) -> bool:
    """True for tokens of git hosts and keys of Apps, whose names go on with `git/` or `app/`."""
    return json.dumps(resource).rstrip('"}').endswith((":secret:${AWS::StackName}/org_*/git/*", ":secret:${AWS::StackName}/org_*/app/*"))


def refused_variants(template: dict) -> list[str]:
    """What CloudFormation's language extensions refuse: they are resolved with the parameters of a stack."""
    faults = []
    for parameters in VARIANTS:
        try:
            extended(template, parameters)
        except InvalidTemplateException as error:
            faults.append(f"language extensions, with {parameters or 'all defaults'}: {error}")
    return faults


# ---------------------------------------------------------------------------- references


def references(node: object, path: str = ""):
    """Every (kind, target, path) that the template refers to."""
    if isinstance(node, dict):
        for key, value in node.items():
            here = f"{path}/{key}"
            if key == "Ref" and isinstance(value, str):
                yield "Ref", value, path
            elif key == "Fn::GetAtt":
                target = value.split(".", 1)[0] if isinstance(value, str) else value[0]
                yield "GetAtt", target, path
            elif key == "Fn::If":
                yield "Condition", value[0], path
                yield from references(value[1:], here)
                continue
            elif key == "Fn::Sub":
                text, names = value if isinstance(value, list) else (value, {})
                for name in SUB_NAME.findall(text):
                    if name not in names:
                        yield ("GetAtt" if "." in name else "Ref"), name.split(".", 1)[0], path
                yield from references(names, here)
                continue
            yield from references(value, here)
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from references(value, f"{path}/{index}")


def dangling(expanded: dict) -> list[str]:
    resources, parameters = expanded["Resources"], expanded.get("Parameters", {})
    conditions = expanded.get("Conditions", {})
    faults = []
    body = {key: expanded.get(key, {}) for key in ("Resources", "Outputs", "Conditions", "Rules")}
    for kind, target, path in references(body):
        known = {
            "Ref": target in resources or target in parameters or target.startswith("AWS::"),
            "GetAtt": target in resources,
            "Condition": target in conditions,
        }[kind]
        if not known:
            faults.append(f"{path}: {kind} of {target}, which does not exist")
    for name, resource in resources.items():
        depends = resource.get("DependsOn", [])
        for target in [depends] if isinstance(depends, str) else depends:
            if target not in resources:
                faults.append(f"{name}: depends on {target}, which does not exist")
        condition = resource.get("Condition")
        if condition and condition not in conditions:
            faults.append(f"{name}: has the condition {condition}, which does not exist")
    return faults


# ---------------------------------------------------------------------------- functions


def programs() -> set[str]:
    """The programs of the packages that hold functions."""
    names: set[str] = set()
    for manifest in ROOT.glob("functions/*/Cargo.toml"):
        if manifest.parent.name != "runner":
            names |= set(re.findall(r'\[\[bin\]\]\s*name = "([^"]+)"', manifest.read_text()))
    return names


def wrong_programs(template: dict) -> list[str]:
    faults = []
    named = Counter()
    for name, properties in functions(template).items():
        program = re.fullmatch(r"target/lambda/([a-z-]+)/", properties["CodeUri"])
        if not program:
            faults.append(f"{name}: CodeUri is {properties['CodeUri']}")
            continue
        named[program.group(1)] += 1
        function_name = properties["FunctionName"]
        if function_name != {"Fn::Sub": f"${{AWS::StackName}}-{program.group(1)}"}:
            faults.append(f"{name}: is not named as its program {program.group(1)}")
    for program in sorted(programs() ^ set(named)):
        where = "functions/" if program in programs() else "the template"
        faults.append(f"{program}: only in {where}")
    faults += [f"{program}: has {n} functions" for program, n in named.items() if n > 1]
    return faults


def wrong_variables(expanded: dict) -> list[str]:
    """What is for one machine only. That each function gets the variables that it reads, and no others, is
    compared with the code by a test in Rust."""
    variables_of = {
        name: properties.get("Environment", {}).get("Variables", {})
        for name, properties in of_type(expanded, "AWS::Lambda::Function").items()
    }
    for name, properties in of_type(expanded, "AWS::ECS::TaskDefinition").items():
        containers = properties["ContainerDefinitions"]
        variables_of[name] = [variable["Name"] for of in containers for variable in of.get("Environment", [])]
    return [
        f"{name}: {variable} is for one machine only"
        for name, variables in variables_of.items()
        for variable in variables
        if LOCAL_ONLY.match(variable)
    ]


# ---------------------------------------------------------------------------- permissions


def listed(value: object) -> list:
    return value if isinstance(value, list) else [value]


def statements(expanded: dict):
    """Every (owner, statement) of a role's, a managed or an attached policy."""
    for kind in ("ManagedPolicy", "Policy"):
        for name, properties in of_type(expanded, f"AWS::IAM::{kind}").items():
            for statement in listed(properties["PolicyDocument"]["Statement"]):
                yield name, statement
    for name, properties in of_type(expanded, "AWS::IAM::Role").items():
        for policy in properties.get("Policies", []):
            for statement in listed(policy["PolicyDocument"]["Statement"]):
                yield name, statement


def wrong_permissions(expanded: dict) -> list[str]:
    faults = []
    for owner, statement in statements(expanded):
        if statement.get("Effect") != "Allow" or "NotAction" in statement or "NotResource" in statement:
            faults.append(f"{owner}: only plain Allow statements are used here")
        for action in listed(statement.get("Action", [])):
            if "*" in action or "?" in action:
                faults.append(f"{owner}: the action {action} has a wildcard")
            if action.startswith("dynamodb:") and action not in TABLE_ACTIONS:
                faults.append(f"{owner}: no code needs {action}")
            if "*" in listed(statement.get("Resource", "*")) and action not in UNBOUND_ACTIONS:
                faults.append(f"{owner}: {action} is allowed on every resource")
            resources = json.dumps(statement.get("Resource"))
            if action == "dynamodb:DeleteItem" and "LedgerTable" in resources:
                faults.append(f"{owner}: the ledger is only added to, yet {action} is allowed on it")
            if (owner, action) == ("SweepRole", "secretsmanager:GetSecretValue"):
                # It asks forges who may do what and what became of pull requests, and posts reports.
                if not all(is_of_git_hosts(name) for name in listed(statement.get("Resource", "*"))):
                    faults.append(f"{owner}: {action} is allowed on secrets that no git host has")
            elif action.startswith("secretsmanager:") and owner != "ControlRole":
                if action not in SECRET_WRITES:
                    faults.append(f"{owner}: only control may read secrets, yet {action} is allowed")
                if not all(is_of_environments(name) for name in listed(statement.get("Resource", "*"))):
                    faults.append(f"{owner}: {action} is allowed on secrets that no environment has")
    roles = of_type(expanded, "AWS::IAM::Role")
    users = Counter()
    for name, properties in of_type(expanded, "AWS::Lambda::Function").items():
        role = properties["Role"].get("Fn::GetAtt", [None])[0]
        users[role] += 1
        for arn in roles.get(role, {}).get("ManagedPolicyArns", []):
            own = isinstance(arn, dict) and "Ref" in arn
            if not own and not any(allowed in json.dumps(arn) for allowed in AWS_MANAGED):
                faults.append(f"{role}: has the policy {arn}")
    faults += [f"{role}: is the role of {n} functions" for role, n in users.items() if n > 1]
    unbounded = [name for name, properties in roles.items() if "PermissionsBoundary" not in properties]
    faults += [f"{name}: has no PermissionsBoundary" for name in unbounded]
    task = of_type(expanded, "AWS::ECS::TaskDefinition")["RunnerTask"]["TaskRoleArn"]["Fn::GetAtt"][0]
    if roles[task].keys() & {"Policies", "ManagedPolicyArns"}:
        faults.append(f"{task}: other people's code runs with it, so it must have no policy")
    return faults


def movable_images(expanded: dict) -> list[str]:
    """Repositories in which another image can take the place of one that tasks start."""
    repositories = of_type(expanded, "AWS::ECR::Repository").items()
    return [f"{name}: its tags can be moved" for name, p in repositories if p.get("ImageTagMutability") != "IMMUTABLE"]


# ---------------------------------------------------------------------------- limits


def routes(template: dict) -> list[tuple[str, str, str]]:
    program = {name: properties["CodeUri"].split("/")[-2] for name, properties in functions(template).items()}
    return sorted((method.path, method.name, program[method.function]) for method in api.methods(template))


def wrong_routes(template: dict) -> list[str]:
    """The documented calls are those that the gateway accepts."""
    document = json.loads((ROOT / "docs/openapi.json").read_text())
    documented = {(path, method.upper()) for path, methods in document["paths"].items() for method in methods}
    # The runners' own API is nobody else's, pages are no operations; HEAD is GET without a body, and ANY is
    # the fallback's.
    served = {
        (path, method)
        for path, method, _ in routes(template)
        if not path.startswith(("/control/", "/docs", "/console", "/mcp")) and method not in ("ANY", "HEAD")
    }
    missing = [f"{method} {path}: documented, and no function serves it" for path, method in documented - served]
    return sorted(missing) + [f"{method} {path}: not documented" for path, method in sorted(served - documented)]


# ---------------------------------------------------------------------------- all of it


def lint(what: str, command: list[str]) -> list[str]:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    return [] if done.returncode == 0 else [f"{what}:\n{done.stdout}{done.stderr}"]


def check() -> list[str]:
    tools = Path(sys.executable).parent
    template = load()
    faults = lint("cfn-lint", [str(tools / "cfn-lint"), "-t", str(TEMPLATE), "-r", REGION, "eu-central-1"])
    faults += lint("sam validate", [str(tools / "sam"), "validate", "--lint", "--region", REGION, "-t", str(TEMPLATE)])
    try:
        expanded = expand(template)
    except InvalidDocumentException as error:
        return [*faults, f"SAM's transform: {error.message} {[cause.message for cause in error.causes]}"]
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch) / "expanded.json"
        path.write_text(json.dumps(expanded))
        # W: of the expansion's own making, such as a Sub without a variable.
        faults += lint("cfn-lint, expanded", [str(tools / "cfn-lint"), "-t", str(path), "-i", "W", "-r", REGION])
    faults += refused_variants(template)
    faults += dangling(expanded) + wrong_programs(template) + wrong_variables(expanded)
    faults += movable_images(expanded) + wrong_permissions(expanded) + wrong_routes(template) + check_operation.check(template, expanded)
    print("    routes:")
    for path, method, program in routes(template):
        print(f"      {method:<5} {path:<40} {program}")
    kinds = Counter(resource["Type"] for resource in expanded["Resources"].values())
    print("    " + ", ".join(f"{n} {kind.removeprefix('AWS::')}" for kind, n in kinds.most_common()))
    return faults + check_parameters.check(template) + check_room.check(template, expanded)


if __name__ == "__main__":
    found = check()
    for fault in found:
        print(f"  FAULT {fault}", file=sys.stderr)
    sys.exit(1 if found else 0)
