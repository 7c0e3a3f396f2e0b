//! Arguments for submitting a work order, and the body of a create that they make.

use awo_domain::agent::AgentType;
use awo_domain::work_order::MAX_ITERATIONS;
use clap::Args;
use serde_json::{Map, Value, json};

use super::names;
use crate::failure::Failure;
use crate::quantity;
use crate::reference::{self, Reference};

const SUBMIT_HELP: &str = "\
Examples:
  awo submit --prompt 'Fix the tests' --follow
  awo submit --repo https://example.com/team/project.git --prompt @task.md --follow
  git diff | awo submit --repo ../project --branch next --prompt -
  awo submit --prompt 'Fix the tests' --follow -- sh -c './fix.sh \"$(cat \"$AWO_PROMPT_FILE\")\"'
  awo submit --template nightly --var team=core --prompt @task.md
  awo submit --agent verify --branch feature --verify-base main --require-verified";

/// The fields of a create's body, and the option that each comes from.
pub const FIELDS: [(&str, &str); 22] = [
    ("/taskPrompt", "--prompt"),
    ("/workspaceSource/repository", "--repo"),
    ("/workspaceSource/branch", "--branch"),
    ("/workspaceSource/commit", "--commit"),
    ("/verifyBase", "--verify-base"),
    ("/protect", "--protect"),
    ("/resultBranch", "--result-branch"),
    ("/workspaceSource/templateId", "--template"),
    ("/workspaceSource/variables", "--var"),
    ("/workspaceSource", "--repo"),
    ("/parentId", "--parent"),
    ("/agent/type", "--agent"),
    ("/agent/model", "--model"),
    ("/agent/command", "--command"),
    ("/maxIterations", "--max-iterations"),
    ("/limits/maxCredits", "--max-credits"),
    ("/limits/maxDurationMs", "--max-duration"),
    ("/tenantContext/tenantId", "--tenant"),
    ("/tenantContext/tenantUserId", "--tenant-user"),
    ("/metadata", "--metadata"),
    ("/harness", "--harness"),
    ("/environment", "--environment"),
];

#[derive(Debug, Args)]
#[command(after_help = SUBMIT_HELP)]
pub struct Submit {
    /// Repository to work on: an https URL, or a folder. A service on this machine clones the
    /// folder; any other service clones its remote `origin` [default: the current folder]
    #[arg(long, value_name = "URL|DIR")]
    pub repo: Option<String>,
    /// Task: its text, @FILE to read it from a file, or - to read it from standard input; optional
    /// with --agent verify
    #[arg(long, value_name = "TEXT")]
    pub prompt: Option<String>,
    /// Branch to start from [default: the repository's default branch]
    #[arg(long)]
    pub branch: Option<String>,
    /// Commit to verify, by its whole id, with --agent verify [default: the branch's head]
    #[arg(long, value_name = "ID", requires = "agent")]
    pub commit: Option<String>,
    /// Branch whose plan a verification follows, with --agent verify [default: the repository's
    /// default branch]
    #[arg(long, value_name = "BRANCH", requires = "agent")]
    pub verify_base: Option<String>,
    /// Existing branch to begin on and to push the result onto [default: a new branch]
    #[arg(long, value_name = "BRANCH")]
    pub result_branch: Option<String>,
    /// Restore protected files and scripts to the content of the base, with --agent verify
    #[arg(long, requires = "agent")]
    pub protect: bool,
    /// Template that defines the repository to work on, instead of --repo
    #[arg(long, value_name = "ID", conflicts_with_all = ["repo", "branch", "commit"])]
    pub template: Option<String>,
    /// Template variable; may be repeated
    #[arg(long = "var", value_name = "NAME=VALUE", requires = "template", value_parser = quantity::pair)]
    pub variables: Vec<(String, String)>,
    /// Parent work order
    #[arg(long, value_name = "ID", value_parser = reference::parse)]
    pub parent: Option<Reference>,
    /// Agent to run [default: set by the service]
    #[arg(long, value_name = "TYPE", value_parser = names(AgentType::ALL.map(AgentType::as_str)))]
    pub agent: Option<String>,
    /// Model for the agent; requires --agent
    #[arg(long, requires = "agent")]
    pub model: Option<String>,
    /// Program of a command agent and its arguments: everything that follows; prefer -- COMMAND
    #[arg(long, value_name = "ARGV", num_args = 1.., allow_hyphen_values = true)]
    pub command: Option<Vec<String>>,
    /// Program of a command agent and its arguments, as a JSON array of strings
    #[arg(long, value_name = "JSON", conflicts_with = "command", value_parser = quantity::argv)]
    pub command_json: Option<quantity::Argv>,
    /// Maximum number of iterations of agent and verification
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_ITERATIONS)))]
    pub max_iterations: Option<u32>,
    /// Maximum credits that the run may use
    #[arg(long, value_name = "N", value_parser = quantity::credits)]
    pub max_credits: Option<quantity::Credits>,
    /// Maximum duration of the run, such as 90s, 10m or 1h30m
    #[arg(long, value_name = "TIME", value_parser = quantity::duration_ms)]
    pub max_duration: Option<u64>,
    /// Tenant that the work order is for
    #[arg(long, value_name = "ID")]
    pub tenant: Option<String>,
    /// User of the tenant
    #[arg(long, value_name = "ID", requires = "tenant")]
    pub tenant_user: Option<String>,
    /// Metadata stored with the work order; may be repeated
    #[arg(long, value_name = "KEY=VALUE", num_args = 1.., value_parser = quantity::pair)]
    pub metadata: Vec<(String, String)>,
    /// Harness profile [default: default]
    #[arg(long, value_name = "PROFILE")]
    pub harness: Option<String>,
    /// Environment of the run's commands [default: the template's, else the harness profile's]
    #[arg(long, value_name = "ENVIRONMENT")]
    pub environment: Option<String>,
    /// Idempotency key: repeating the request with it creates no second work order [default: a
    /// random key]
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
    /// Follow the run's progress until it ends
    #[arg(long)]
    pub follow: bool,
    /// Follow the run, and exit with 1 unless the result is verified
    #[arg(long)]
    pub require_verified: bool,
    /// Program of a command agent and its arguments
    #[arg(last = true, value_name = "COMMAND", conflicts_with_all = ["command", "command_json"])]
    pub argv: Vec<String>,
}

impl Submit {
    /// The command of the agent, however it was written.
    pub fn argv(&self) -> Option<&Vec<String>> {
        let argv = self.command_json.as_ref().map(|argv| &argv.0);
        argv.or(self.command.as_ref())
            .or(Some(&self.argv).filter(|argv| !argv.is_empty()))
    }

    /// True if no agent works: a commit is verified.
    pub fn is_verification(&self) -> bool {
        let kind = self.agent.as_deref().and_then(AgentType::parse);
        kind.is_some_and(AgentType::is_verification)
    }

    /// The body of the create, but for the parent, whose id has to be completed.
    ///
    /// # Errors
    /// When a key is given twice.
    pub fn body(&self, prompt: Option<String>, source: Value) -> Result<Value, Failure> {
        let mut body = Map::new();
        if let Some(prompt) = prompt {
            body.insert("taskPrompt".to_owned(), json!(prompt));
        }
        body.insert("workspaceSource".to_owned(), source);
        let argv = self.argv();
        // A command implies its agent type where no other option sets one.
        let kind = self.agent.as_deref();
        let kind = kind.or(argv.is_some().then_some(AgentType::Command.as_str()));
        let agent = [
            ("type", kind.map(|k| json!(k))),
            ("model", self.model.as_ref().map(|m| json!(m))),
            ("command", argv.map(|argv| json!(argv))),
        ];
        put(&mut body, "agent", agent);
        let limits = [
            ("maxCredits", self.max_credits.map(|c| json!(c))),
            ("maxDurationMs", self.max_duration.map(|ms| json!(ms))),
        ];
        put(&mut body, "limits", limits);
        let tenant = [
            ("tenantId", self.tenant.as_ref().map(|t| json!(t))),
            ("tenantUserId", self.tenant_user.as_ref().map(|t| json!(t))),
        ];
        put(&mut body, "tenantContext", tenant);
        if let Some(branch) = &self.result_branch {
            body.insert("resultBranch".to_owned(), json!(branch));
        }
        if let Some(base) = &self.verify_base {
            body.insert("verifyBase".to_owned(), json!(base));
        }
        if self.protect {
            body.insert("protect".to_owned(), json!(true));
        }
        if let Some(most) = self.max_iterations {
            body.insert("maxIterations".to_owned(), json!(most));
        }
        if let Some(environment) = &self.environment {
            body.insert("environment".to_owned(), json!(environment));
        }
        if let Some(harness) = &self.harness {
            body.insert("harness".to_owned(), json!(harness));
        }
        let metadata = pairs("--metadata", &self.metadata)?;
        if !metadata.is_empty() {
            body.insert("metadata".to_owned(), Value::Object(metadata));
        }
        Ok(Value::Object(body))
    }
}

/// Puts an object of the fields that there are; none if there are none.
fn put<const N: usize>(
    body: &mut Map<String, Value>,
    name: &str,
    fields: [(&str, Option<Value>); N],
) {
    let there = fields
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)));
    let object: Map<String, Value> = there.collect();
    if !object.is_empty() {
        body.insert(name.to_owned(), Value::Object(object));
    }
}

/// An object of pairs.
///
/// # Errors
/// When a key is given twice.
pub fn pairs(option: &str, pairs: &[(String, String)]) -> Result<Map<String, Value>, Failure> {
    let mut object = Map::new();
    for (key, value) in pairs {
        if object.insert(key.clone(), json!(value)).is_some() {
            return Err(Failure::Usage(format!("{option} {key} is given twice")));
        }
    }
    Ok(object)
}
