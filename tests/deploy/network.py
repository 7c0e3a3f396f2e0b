"""The network that the template makes, deployed to the stand-in.

The stand-in's CloudFormation lacks three types of it, and its EC2 has them all. So what is of these
types is made through EC2, from the very properties that the template gives them.
"""

from __future__ import annotations

import json
from contextlib import contextmanager

from botocore.exceptions import ClientError

import cloud
from progress import expect, say, wait_for

# Types that only EC2 has there, in the order in which they are made.
ADDRESS, GATEWAY, EGRESS, ROUTE = (
    f"AWS::EC2::{kind}" for kind in ("EIP", "NatGateway", "SecurityGroupEgress", "Route")
)
DELETE_SECONDS = 120


class Parts:
    """What EC2 makes in CloudFormation's stead."""

    def __init__(self, stand_in: cloud.Cloud, template: dict, parameters: dict[str, str]) -> None:
        self.ec2 = stand_in.client("ec2")
        defaults = {name: of.get("Default", "") for name, of in template["Parameters"].items()}
        self.parameters = {name: str(value) for name, value in (defaults | parameters).items()}
        self.conditions = template["Conditions"]
        self.addresses: dict[str, dict] = {}
        self.gateways: dict[str, str] = {}
        self.rest: list[tuple[str, dict]] = []

    def holds(self, condition: str | dict) -> bool:
        node = self.conditions[condition] if isinstance(condition, str) else condition
        ((function, of),) = node.items()
        if function == "Condition":
            return self.holds(of)
        if function == "Fn::Equals":
            one, other = (self.parameters[v["Ref"]] if isinstance(v, dict) else str(v) for v in of)
            return one == other
        return {"Fn::Not": lambda: not self.holds(of[0]), "Fn::And": lambda: all(map(self.holds, of))}.get(
            function, lambda: any(map(self.holds, of))
        )()

    def chosen(self, node: object) -> object:
        """The branch of `Fn::If` that holds; nothing for AWS::NoValue."""
        while isinstance(node, dict) and "Fn::If" in node:
            condition, then, otherwise = node["Fn::If"]
            node = then if self.holds(condition) else otherwise
        return None if node == {"Ref": "AWS::NoValue"} else node

    def take_out(self, template: dict) -> dict:
        """The template without them, and their addresses as parameters: a name is a name to whatever refers to it."""
        resources = template["Resources"]
        for name, resource in list(resources.items()):
            kind, exists = resource["Type"], "Condition" not in resource or self.holds(resource["Condition"])
            properties = {key: self.chosen(value) for key, value in resource.get("Properties", {}).items()}
            if kind not in (ADDRESS, GATEWAY, EGRESS) and not (kind == ROUTE and properties.get("NatGatewayId")):
                continue
            del resources[name]
            if not exists:
                continue
            if kind == ADDRESS:
                self.addresses[name] = self.ec2.allocate_address(Domain=properties["Domain"])
                template["Parameters"][name] = {"Type": "String", "Default": self.addresses[name]["PublicIp"]}
            elif kind == GATEWAY:
                self.rest.insert(0, (name, properties))
            else:
                self.rest.append((name, properties))
        return template

    def value(self, node: object, stack: cloud.Stack) -> object:
        if not isinstance(node, dict):
            return node
        ((function, of),) = node.items()
        name, attribute = (of, None) if function == "Ref" else (of.split(".") if isinstance(of, str) else of)
        if name in self.addresses:
            return self.addresses[name][attribute or "PublicIp"]
        return self.gateways.get(name) or stack.physical(name)

    def make(self, stack: cloud.Stack) -> None:
        for name, properties in self.rest:
            of = {key: self.value(node, stack) for key, node in properties.items() if node is not None}
            if "AllocationId" in of:
                self.gateways[name] = self.ec2.create_nat_gateway(**of)["NatGateway"]["NatGatewayId"]
            elif "NatGatewayId" in of:
                self.ec2.create_route(**of)
            else:
                other = {"GroupId": of["DestinationSecurityGroupId"], "Description": of["Description"]}
                ports = {key: of[key] for key in ("IpProtocol", "FromPort", "ToPort")}
                permission = {**ports, "UserIdGroupPairs": [other]}
                self.ec2.authorize_security_group_egress(GroupId=of["GroupId"], IpPermissions=[permission])


@contextmanager
def deployed(stand_in: cloud.Cloud, template: dict, name: str, parameters: dict[str, str]):
    """A stack with a network of its own, which is deleted afterwards."""
    copy = json.loads(json.dumps(template))
    cloud.left_out(copy)
    parts = Parts(stand_in, copy, parameters)
    stack = cloud.deploy(stand_in, parts.take_out(copy), name, parameters | {"DataOnDelete": "Delete"})
    parts.make(stack)
    yield stack, parts
    formation = stand_in.client("cloudformation")
    formation.delete_stack(StackName=name)

    def gone() -> bool:
        try:
            status = formation.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"]
        except ClientError:
            return True
        expect("FAILED" not in status, f"deleting {name}: {status}")
        return status == "DELETE_COMPLETE"

    wait_for(f"the end of {name}", DELETE_SECONDS, gone)


def zone_of(ec2, subnet: str) -> str:
    return ec2.describe_subnets(SubnetIds=[subnet])["Subnets"][0]["AvailabilityZone"]


def started_in(stack: cloud.Stack) -> list[dict[str, str]]:
    """Where each of the functions that start tasks starts them."""
    functions = stack.cloud.client("lambda")
    names = [stack.physical(logical) for logical in stack.of_type("AWS::Lambda::Function")]
    found = [functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"] for name in names]
    return [variables for variables in found if "AWO_SUBNETS" in variables]


def way_out(ec2, subnet: str) -> str:
    """The target of the default route of a subnet."""
    tables = ec2.describe_route_tables(Filters=[{"Name": "association.subnet-id", "Values": [subnet]}])["RouteTables"]
    expect(len(tables) == 1, f"{subnet} has {len(tables)} route tables")
    routes = [r for r in tables[0]["Routes"] if r.get("DestinationCidrBlock") == "0.0.0.0/0"]
    expect(len(routes) == 1, f"{subnet} has the default routes {routes}")
    return routes[0].get("NatGatewayId") or routes[0].get("GatewayId") or ""


def holds(stack: cloud.Stack, parts: Parts) -> None:
    """Tasks start in subnets of this network, which lead out, and nobody can call them."""
    ec2 = stack.cloud.client("ec2")
    (vpc,) = (stack.physical(name) for name in stack.of_type("AWS::EC2::VPC"))
    places = {(of["AWO_SUBNETS"], of["AWO_SECURITY_GROUPS"]) for of in started_in(stack)}
    expect(len(places) == 1, f"tasks start in {places}")
    ((subnets, groups),) = places
    zones = {}
    for subnet in ec2.describe_subnets(SubnetIds=subnets.split(","))["Subnets"]:
        expect(subnet["VpcId"] == vpc, f"{subnet['SubnetId']} is in {subnet['VpcId']}")
        zones[subnet["SubnetId"]] = subnet["AvailabilityZone"]
    expect(len(set(zones.values())) == 2, f"the subnets are in {zones}")
    ways = {subnet: way_out(ec2, subnet) for subnet in zones}
    wanted = list(parts.gateways.values())
    gateways = ec2.describe_nat_gateways(NatGatewayIds=wanted)["NatGateways"] if wanted else []
    for gateway in gateways:
        expect(way_out(ec2, gateway["SubnetId"]).startswith("igw-"), f"{gateway['NatGatewayId']} leads nowhere")
    if parts.parameters["Network"] == "NatPerZone":
        of = {g["NatGatewayId"]: zone_of(ec2, g["SubnetId"]) for g in gateways}
        expect(all(of.get(way) == zones[subnet] for subnet, way in ways.items()), f"{zones}, {ways} and {of}")
    elif parts.parameters["Network"] == "Nat":
        expect(set(ways.values()) == {g["NatGatewayId"] for g in gateways}, f"{ways}, and the gateways {gateways}")
    else:
        expect(not gateways and all(way.startswith("igw-") for way in ways.values()), f"{ways} and {gateways}")
    public = {of.get("AWO_PUBLIC_ADDRESSES") for of in started_in(stack)}
    expect(public == {"1" if parts.parameters["Network"] == "Public" else ""}, f"public addresses: {public}")
    for group in ec2.describe_security_groups(GroupIds=groups.split(","))["SecurityGroups"]:
        expect(not group["IpPermissions"], f"tasks can be called: {group['IpPermissions']}")
        out = sorted(p.get("FromPort", 0) for p in group["IpPermissionsEgress"] if p["IpProtocol"] != "-1")
        expect(out == [443, 2049], f"tasks may call the ports {out}")
    say(f"  tasks go out by {ways}")
