//! Arguments for threads of work orders.

use awo_domain::agent::AgentType;
use awo_domain::work_order::MAX_ITERATIONS;
use clap::Args;
use serde_json::{Value, json};

use super::{names, pairs};
use crate::failure::Failure;
use crate::quantity;
use crate::reference::{self, Reference};

const FOLLOW_UP_HELP: &str = "\
Examples:
  awo follow-up @latest --prompt 'Name the test after its rule' --follow
  awo follow-up wo_01k0000000000000000000000a --prompt @review.md --merge-target";

#[derive(Debug, Args)]
#[command(after_help = FOLLOW_UP_HELP)]
pub struct FollowUp {
    /// Id of a work order of the thread, or of one of its runs
    #[arg(value_parser = reference::parse)]
    pub id: Reference,
    /// Task: its text, @FILE to read it from a file, or - to read it from standard input
    #[arg(long, value_name = "TEXT")]
    pub prompt: String,
    /// Merge the head of the target branch before the agent begins
    #[arg(long)]
    pub merge_target: bool,
    /// Agent [default: that of the turn before]
    #[arg(long, value_parser = names(AgentType::ALL.map(AgentType::as_str)))]
    pub agent: Option<String>,
    /// Model of the agent named by --agent
    #[arg(long, requires = "agent")]
    pub model: Option<String>,
    /// Maximum number of iterations [default: the profile's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_ITERATIONS)))]
    pub max_iterations: Option<u32>,
    /// Most credits that a run may cost [default: the profile's]
    #[arg(long, value_name = "N", value_parser = quantity::credits)]
    pub max_credits: Option<quantity::Credits>,
    /// Harness profile [default: that of the turn before]
    #[arg(long, value_name = "NAME")]
    pub harness: Option<String>,
    /// Environment [default: that of the turn before]
    #[arg(long, value_name = "NAME")]
    pub environment: Option<String>,
    /// Metadata stored with the work order; may be repeated [default: those of the turn before]
    #[arg(long, value_name = "KEY=VALUE", num_args = 1.., value_parser = quantity::pair)]
    pub metadata: Vec<(String, String)>,
    /// Follow the run's progress until it ends
    #[arg(long)]
    pub follow: bool,
    /// Follow the run, and exit with 1 unless the result is verified
    #[arg(long)]
    pub require_verified: bool,
    /// Idempotency key: repeating the request with it creates no second turn [default: a random key]
    #[arg(long, value_name = "KEY")]
    pub idempotency_key: Option<String>,
}

impl FollowUp {
    /// The body of the follow-up, with the prompt as it was read.
    pub fn body(&self, prompt: String) -> Result<Value, Failure> {
        let mut body = json!({ "taskPrompt": prompt });
        if self.merge_target {
            body["mergeTarget"] = json!(true);
        }
        if let Some(agent) = &self.agent {
            body["agent"] = json!({ "type": agent });
            if let Some(model) = &self.model {
                body["agent"]["model"] = json!(model);
            }
        }
        if let Some(iterations) = self.max_iterations {
            body["maxIterations"] = json!(iterations);
        }
        if let Some(credits) = &self.max_credits {
            body["limits"] = json!({ "maxCredits": credits });
        }
        let texts = [
            ("harness", &self.harness),
            ("environment", &self.environment),
        ];
        for (name, text) in texts {
            if let Some(text) = text {
                body[name] = json!(text);
            }
        }
        let labels = pairs("--metadata", &self.metadata)?;
        if !labels.is_empty() {
            body["metadata"] = Value::Object(labels);
        }
        Ok(body)
    }
}

#[derive(Debug, Args)]
pub struct Thread {
    /// Id of a work order of the thread, or of one of its runs
    #[arg(value_parser = reference::parse)]
    pub id: Reference,
}
