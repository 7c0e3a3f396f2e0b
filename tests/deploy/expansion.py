"""Expands the template as CloudFormation does: by its language extensions, and by SAM."""

from __future__ import annotations

import json
from pathlib import Path

import boto3
from samcli.lib.cfn_language_extensions.api import process_template
from samcli.yamlhelper import yaml_parse
from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = ROOT / "template.yaml"
REGION = "us-east-1"
EXTENSIONS = "AWS::LanguageExtensions"
# The second sends traces, and may do nothing else. The third is CodeDeploy's.
AWS_MANAGED = {"AWSLambdaBasicExecutionRole", "AWSXrayWriteOnlyAccess", "AWSCodeDeployRoleForLambda"}


def load() -> dict:
    return yaml_parse(TEMPLATE.read_text())


def functions(template: dict) -> dict[str, dict]:
    return {
        name: resource["Properties"]
        for name, resource in template["Resources"].items()
        if resource["Type"] == "AWS::Serverless::Function"
    }


def of_type(expanded: dict, kind: str) -> dict[str, dict]:
    return {
        name: resource.get("Properties", {})
        for name, resource in expanded["Resources"].items()
        if resource["Type"] == kind
    }


def expand(template: dict, parameters: dict | None = None) -> dict:
    """The template as CloudFormation has it after SAM's transform."""
    copy = json.loads(json.dumps(template))
    # CodeUri has to look uploaded; what stands there is checked against the programs below.
    for properties in functions(copy).values():
        properties["CodeUri"] = "s3://bucket/key"
    policies = {name: f"arn:aws:iam::aws:policy/service-role/{name}" for name in AWS_MANAGED}
    # The translator asks the session for its region and nothing else.
    session = boto3.Session(region_name=REGION)
    return Translator(policies, Parser(), boto_session=session).translate(copy, parameters or {})


def defaults(template: dict) -> dict:
    return {name: parameter["Default"] for name, parameter in template["Parameters"].items() if "Default" in parameter}


def extended(template: dict, parameters: dict) -> dict:
    """The template after the language extensions, with a stack's parameters."""
    return process_template(template, parameter_values=defaults(template) | parameters)


def expand_for(template: dict, parameters: dict) -> dict:
    """The template of a stack with these parameters. Transforms work in the order in which they are listed."""
    transforms = template["Transform"]
    is_extended = isinstance(transforms, list) and transforms[0] == EXTENSIONS
    whole = defaults(template) | parameters
    return expand(extended(template, parameters) if is_extended else template, whole)
