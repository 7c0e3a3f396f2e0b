//! The next possible steps after a finished run, as commands to copy.

use crate::answers::{Run, WorkOrder};
use crate::paint::clean_line;

/// The commands, each with what it is for; none where there is nothing to do.
pub fn of(run: &Run, order: Option<&WorkOrder>) -> Vec<(&'static str, String)> {
    let id = clean_line(&run.run_id);
    match run.status.as_str() {
        "succeeded" => of_success(run, order, &id),
        "failed" => {
            let checks = ("see what failed", format!("awo checks {id}"));
            let logs = ("see what the agent wrote", format!("awo logs {id}"));
            let again = format!("awo start {}", clean_line(&run.work_order_id));
            vec![checks, logs, ("try again", again)]
        }
        "canceled" => Vec::new(),
        _ => vec![("watch it", format!("awo follow {id}"))],
    }
}

fn of_success(run: &Run, order: Option<&WorkOrder>, id: &str) -> Vec<(&'static str, String)> {
    if run.commit.is_none() {
        return Vec::new();
    }
    let review = ("review it", format!("awo diff {id}"));
    let Some(branch) = run.branch.as_deref().map(clean_line) else {
        return vec![
            review,
            ("take it over", format!("awo diff {id} | git apply")),
        ];
    };
    let repository = order.map(|order| order.workspace_source.repository.as_str());
    // A branch that was pushed into a folder is there already.
    let is_folder = repository.is_some_and(|url| url.starts_with("file://"));
    let take = if is_folder {
        format!("git merge {branch}")
    } else {
        format!("git fetch origin {branch} && git merge FETCH_HEAD")
    };
    vec![review, ("take it over", take)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn next(status: &str, more: serde_json::Value, repository: &str) -> Vec<String> {
        let mut run = json!({"runId": "run_1", "workOrderId": "wo_1", "status": status,
            "iteration": 1, "maxIterations": 5, "createdAt": "t"});
        let fields = more.as_object().unwrap().clone();
        run.as_object_mut().unwrap().extend(fields);
        let order = json!({"id": "wo_1", "taskPrompt": "p", "runId": "run_1", "status": status,
            "workspaceSource": {"repository": repository}, "maxIterations": 5, "createdAt": "t"});
        let order = serde_json::from_value(order).unwrap();
        let steps = of(&serde_json::from_value(run).unwrap(), Some(&order));
        steps.into_iter().map(|(_, command)| command).collect()
    }

    #[test]
    fn the_next_step_fits_how_a_run_ended() {
        let delivered = json!({"commit": "c", "branch": "awo/run_1"});
        let fetch = "git fetch origin awo/run_1 && git merge FETCH_HEAD";
        let succeeded = |more, repository| next("succeeded", more, repository);
        assert_eq!(
            succeeded(delivered.clone(), "https://e.x/a"),
            ["awo diff run_1", fetch]
        );
        let merge = ["awo diff run_1", "git merge awo/run_1"];
        assert_eq!(succeeded(delivered, "file:///a"), merge);
        let apply = ["awo diff run_1", "awo diff run_1 | git apply"];
        assert_eq!(succeeded(json!({"commit": "c"}), "https://e.x/a"), apply);
        assert!(succeeded(json!({}), "https://e.x/a").is_empty());
        assert_eq!(next("failed", json!({}), "file:///a")[2], "awo start wo_1");
        assert_eq!(
            next("running", json!({}), "file:///a"),
            ["awo follow run_1"]
        );
        assert!(next("canceled", json!({}), "file:///a").is_empty());
    }
}
