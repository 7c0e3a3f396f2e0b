//! `POST /control/{orgId}/runs/{runId}/turn`: the record of a turn by its runner.

use awo_domain::control::TurnRecord;
use awo_domain::source::Branch;
use awo_domain::{Error, Timestamp};
use awo_http::Answer;
use lambda_http::Request;
use serde_json::json;

use crate::State;
use crate::runner::{body, checked_commit, reporter};

pub async fn handle(state: &State, request: &Request, now: Timestamp) -> Result<Answer, Error> {
    let by = reporter(request)?;
    let record = checked(body(request)?)?;
    state.store.record_turn(&by, record, now).await?;
    Answer::ok(json!({}))
}

/// A record whose commits, trees and branches are such.
fn checked(record: TurnRecord) -> Result<TurnRecord, Error> {
    let branch = |path: &str, name: &str| {
        let parsed = Branch::parse(name);
        parsed.map_err(|why| Error::invalid(path, why)).map(|_| ())
    };
    match &record {
        TurnRecord::Begun {
            commit,
            tree,
            delivered_tree,
            merged,
            target,
        } => {
            checked_commit("/commit", commit)?;
            checked_commit("/tree", tree)?;
            if let Some(delivered_tree) = delivered_tree {
                checked_commit("/deliveredTree", delivered_tree)?;
            }
            if let Some(merged) = merged {
                checked_commit("/merged", merged)?;
            }
            branch("/target", target)?;
        }
        TurnRecord::Moved {
            commit,
            tree,
            delivered_tree,
        } => {
            checked_commit("/commit", commit)?;
            checked_commit("/tree", tree)?;
            checked_commit("/deliveredTree", delivered_tree)?;
        }
        TurnRecord::Delivering {
            commit,
            tree,
            branch: name,
        } => {
            checked_commit("/commit", commit)?;
            checked_commit("/tree", tree)?;
            branch("/branch", name)?;
        }
        TurnRecord::Delivered { commit, .. } => checked_commit("/commit", commit)?,
    }
    Ok(record)
}
