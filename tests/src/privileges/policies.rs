//! The permissions of a template's policies, piece by piece. Invariant: what cannot be parsed
//! (another effect, another condition, another kind of policy) is a fault and never counts as
//! allowed.
//!
//! Names replace CloudFormation's values: a resource's own name its ARN and its id, `awo` the
//! stack's name.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use serde_norway::Value as Yaml;

use super::Call;

/// What a condition can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Context {
    /// Partition keys of the items.
    LeadingKeys,
    /// The cluster of a task.
    Cluster,
    /// The service that gets a role.
    PassedTo,
    /// The call that tags what it makes.
    CreateAction,
}

impl Context {
    /// Its name in policies.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Context::LeadingKeys => "dynamodb:LeadingKeys",
            Context::Cluster => "ecs:cluster",
            Context::PassedTo => "iam:PassedToService",
            Context::CreateAction => "ecs:CreateAction",
        }
    }

    fn of(operator: &str, key: &str) -> Option<Context> {
        match (operator, key) {
            ("ForAllValues:StringLike", "dynamodb:LeadingKeys") => Some(Context::LeadingKeys),
            ("ArnEquals", "ecs:cluster") => Some(Context::Cluster),
            ("StringEquals", "iam:PassedToService") => Some(Context::PassedTo),
            ("StringEquals", "ecs:CreateAction") => Some(Context::CreateAction),
            _ => None,
        }
    }
}

/// What limits the attributes that a call may name.
const ATTRIBUTES: (&str, &str) = ("ForAllValues:StringEquals", "dynamodb:Attributes");

/// One action on one resource, under one pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The action.
    pub action: String,
    /// The resource, with `*` for any letters.
    pub resource: String,
    /// What the condition asks for, and its pattern.
    pub condition: Option<(Context, String)>,
    /// The attributes that a call may name, where not all.
    pub attributes: Option<BTreeSet<String>>,
    /// Where it stands: the function or the managed policy, and the statement's id.
    pub statement: String,
}

impl Grant {
    /// Whether it allows this call.
    #[must_use]
    pub fn allows(&self, call: &Call) -> bool {
        let condition = match (&self.condition, &call.context) {
            (None, _) => true,
            (Some((asked, pattern)), Some((of, value))) => asked == of && like(pattern, value),
            (Some(_), None) => false,
        };
        let attributes = self
            .attributes
            .as_ref()
            .is_none_or(|may| !call.attributes.is_empty() && call.attributes.is_subset(may));
        self.action == call.action
            && like(&self.resource, &call.resource)
            && condition
            && attributes
    }
}

/// A function and what it may do.
#[derive(Debug, Clone)]
pub struct Function {
    /// Its name in the template.
    pub resource: String,
    /// Its program, by which calls are noted.
    pub program: String,
    /// What its role is allowed.
    pub grants: Vec<Grant>,
}

/// What a template says of functions.
#[derive(Debug, Clone, Default)]
pub struct Template {
    /// The functions.
    pub functions: Vec<Function>,
    /// Functions with the queues that invoke them.
    pub mappings: Vec<(String, String)>,
    /// The roles that tasks are given.
    pub task_roles: Vec<String>,
    /// What cannot be understood.
    pub faults: Vec<String>,
}

impl Template {
    /// Reads a template.
    ///
    /// # Panics
    /// When it is no YAML, or has no resources.
    #[must_use]
    pub fn parse(text: &str) -> Template {
        let template: Yaml = serde_norway::from_str(text).expect("YAML");
        let template = plain(template);
        let resources = template["Resources"].as_object().expect("resources");
        let mut all = Template::default();
        for (name, resource) in resources {
            let properties = &resource["Properties"];
            match resource["Type"].as_str().unwrap_or_default() {
                "AWS::Serverless::Function" => {
                    let uri = properties["CodeUri"].as_str().unwrap_or_default();
                    let program = uri.trim_end_matches('/').rsplit('/').next();
                    let grants = all.grants(name, properties, resources);
                    all.functions.push(Function {
                        resource: name.clone(),
                        program: program.unwrap_or_default().to_owned(),
                        grants,
                    });
                }
                "AWS::Lambda::EventSourceMapping" => {
                    let of = |member: &str| resolved(&properties[member]).concat();
                    // An alias is called with the role of its function.
                    let function = of("FunctionName").replace(".Alias", "");
                    all.mappings.push((function, of("EventSourceArn")));
                }
                // The other definition is started by a schedule, with a role of its own.
                "AWS::ECS::TaskDefinition" if name != "CleanerTask" => {
                    for role in ["TaskRoleArn", "ExecutionRoleArn"] {
                        all.task_roles.extend(resolved(&properties[role]));
                    }
                }
                _ => {}
            }
        }
        all
    }

    /// What a function's policies allow: its own statements, those of managed policies that the
    /// template has beside it, and those of policies that are attached to its role.
    fn grants(
        &mut self,
        name: &str,
        properties: &Value,
        resources: &Map<String, Value>,
    ) -> Vec<Grant> {
        if !properties["Role"].is_null() {
            self.faults
                .push(format!("{name}: its role is not made from its policies"));
        }
        let mut grants = Vec::new();
        for policy in listed(&properties["Policies"]) {
            let shared = policy["Ref"].as_str().unwrap_or_default();
            let managed = &resources.get(shared).unwrap_or(&Value::Null)["Properties"];
            let (owner, document) = if shared.is_empty() {
                (name, &policy)
            } else {
                (shared, &managed["PolicyDocument"])
            };
            let statements = listed(&document["Statement"]);
            if statements.is_empty() {
                self.faults
                    .push(format!("{name}: a policy without statements: {policy}"));
            }
            self.add(&mut grants, owner, statements);
        }
        let role = own(&format!("{name}Role"));
        for (owner, policy) in resources {
            let properties = &policy["Properties"];
            let mut roles = listed(&properties["Roles"]).into_iter();
            let is_attached = policy["Type"] == "AWS::IAM::Policy"
                && roles.any(|one| resolved(&one).contains(&role));
            if is_attached {
                let statements = listed(&properties["PolicyDocument"]["Statement"]);
                self.add(&mut grants, owner, statements);
            }
        }
        grants
    }

    fn add(&mut self, grants: &mut Vec<Grant>, owner: &str, statements: Vec<Value>) {
        for statement in statements {
            match pieces(owner, &statement) {
                Ok(pieces) => grants.extend(pieces),
                Err(fault) => self.faults.push(fault),
            }
        }
    }
}

/// Each action on each resource under each pattern of a statement.
fn pieces(owner: &str, statement: &Value) -> Result<Vec<Grant>, String> {
    let id = statement["Sid"].as_str().unwrap_or("a statement");
    let at = format!("{owner}'s {id}");
    let known = ["Sid", "Effect", "Action", "Resource", "Condition"];
    let members = statement.as_object().into_iter().flatten();
    let mut others = members.filter(|(name, _)| !known.contains(&name.as_str()));
    if statement["Effect"] != "Allow" || others.next().is_some() {
        return Err(format!("{at}: only plain Allow statements are understood"));
    }
    let (mut conditions, mut attributes) = (vec![None], None);
    let asked = statement["Condition"].as_object().into_iter().flatten();
    for (operator, keys) in asked {
        let keys: Vec<_> = keys.as_object().into_iter().flatten().collect();
        let [(key, patterns)] = keys.as_slice() else {
            return Err(format!("{at}: one key an operator is understood"));
        };
        if (operator.as_str(), key.as_str()) == ATTRIBUTES {
            attributes = Some(listed(patterns).iter().flat_map(resolved).collect());
            continue;
        }
        let context = Context::of(operator, key).filter(|_| conditions == [None]);
        let context =
            context.ok_or_else(|| format!("{at}: {operator} of {key} is not understood"))?;
        let patterns = listed(patterns);
        let patterns = patterns.iter().flat_map(resolved);
        conditions = patterns.map(|pattern| Some((context, pattern))).collect();
    }
    let mut grants = Vec::new();
    for action in listed(&statement["Action"]).iter().flat_map(resolved) {
        for resource in listed(&statement["Resource"]).iter().flat_map(resolved) {
            grants.extend(conditions.iter().map(|condition| Grant {
                action: action.clone(),
                resource: resource.clone(),
                condition: condition.clone(),
                attributes: attributes.clone(),
                statement: at.clone(),
            }));
        }
    }
    if grants.is_empty() {
        return Err(format!("{at}: it allows nothing that is understood"));
    }
    Ok(grants)
}

/// Several, or the one that stands without a list.
fn listed(value: &Value) -> Vec<Value> {
    match value {
        Value::Null => Vec::new(),
        Value::Array(values) => values.clone(),
        one => vec![one.clone()],
    }
}

/// CloudFormation's short functions (`!Ref x`) as their long forms.
fn plain(value: Yaml) -> Value {
    match value {
        Yaml::Tagged(tagged) => {
            let name = tagged.tag.to_string();
            let name = name.trim_start_matches('!');
            let name = match name {
                "Ref" | "Condition" => name.to_owned(),
                other => format!("Fn::{other}"),
            };
            json!({ name: plain(tagged.value) })
        }
        Yaml::Sequence(items) => items.into_iter().map(plain).collect(),
        Yaml::Mapping(members) => {
            let name = |key: Yaml| key.as_str().unwrap_or_default().to_owned();
            let members = members.into_iter();
            members.map(|(key, of)| (name(key), plain(of))).collect()
        }
        other => serde_json::to_value(other).unwrap_or_default(),
    }
}

/// The results of a value, of both branches of a choice.
fn resolved(value: &Value) -> Vec<String> {
    if let Some(text) = value.as_str() {
        return vec![text.to_owned()];
    }
    if let Some(name) = value["Ref"].as_str() {
        return vec![own(name)];
    }
    match (&value["Fn::GetAtt"], &value["Fn::Sub"], &value["Fn::If"]) {
        (Value::String(path), _, _) => vec![own(path)],
        (_, Value::String(text), _) => vec![filled(text, &Map::new())],
        (_, Value::Array(parts), _) => {
            let text = parts.first().and_then(Value::as_str).unwrap_or_default();
            let empty = Map::new();
            let with = parts.get(1).and_then(Value::as_object).unwrap_or(&empty);
            vec![filled(text, with)]
        }
        (_, _, Value::Array(choice)) => choice.iter().skip(1).flat_map(resolved).collect(),
        _ => Vec::new(),
    }
}

/// A text with what its gaps stand for; of a choice its first.
fn filled(text: &str, with: &Map<String, Value>) -> String {
    let mut parts = text.split("${");
    let mut whole = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once('}').unwrap_or((part, ""));
        let given = with.get(name).map(resolved).unwrap_or_default();
        whole.push_str(&given.into_iter().next().unwrap_or_else(|| own(name)));
        whole.push_str(rest);
    }
    whole
}

fn own(name: &str) -> String {
    match name.strip_prefix("AWS::") {
        Some("StackName") => "awo".to_owned(),
        Some(other) => other.to_owned(),
        None => name.trim_end_matches(".Arn").to_owned(),
    }
}

/// Whether a text is as a pattern has it, where `*` stands for any letters.
fn like(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut text) = text.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = text.find(part) else {
            return false;
        };
        text = &text[at + part.len()..];
    }
    text.ends_with(last)
}
