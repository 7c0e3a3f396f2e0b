//! `awo kill`

use serde_json::{Map, json};

use crate::answers::{self, KillAnswer};
use crate::arguments::Kill;
use crate::client::Client;
use crate::failure::Failure;
use crate::output::Output;
use crate::paint::clean_line;
use crate::progress::seconds;
use crate::read::field;
use crate::reference;
use crate::screen::Screen;

/// Kills, and waits until the outcome is known.
pub async fn run(client: &Client, wanted: &Kill, output: &Output) -> Result<(), Failure> {
    let id = reference::work_order(client, &wanted.id).await?;
    let mut body = Map::new();
    body.extend(
        wanted
            .grace
            .map(|ms| ("gracePeriodMs".to_owned(), json!(ms))),
    );
    body.extend(wanted.now.then(|| ("immediate".to_owned(), json!(true))));
    let reason = wanted.reason.as_ref();
    body.extend(reason.map(|why| ("reason".to_owned(), json!(why))));
    let (path, body) = (format!("/api/v1/work-orders/{id}/kill"), body.into());
    let kill = client.post_patiently(&path, &body);
    let killing = format!("killing {id}; waiting until all its processes have ended");
    let text = Screen::during(output, killing, kill).await;
    let text = text.map_err(|failure| match failure {
        Failure::Unreachable { what, why, .. } => Failure::Unreachable {
            what,
            why,
            advice: format!(
                "it may have been killed nevertheless: `awo get {id}` shows its state, and a \
                 second kill is safe"
            ),
        },
        other => other,
    })?;
    let killed: KillAnswer = answers::data(&text)?;
    if output.is_json() {
        output.line(&text)?;
    } else {
        show(&killed, output)?;
    }
    if killed.success {
        Ok(())
    } else {
        Err(Failure::NotDone)
    }
}

fn show(killed: &KillAnswer, output: &Output) -> Result<(), Failure> {
    field(output, "status", output.paint.status(&killed.status))?;
    field(
        output,
        "by force",
        if killed.forced_kill { "yes" } else { "no" },
    )?;
    if let Some(ms) = killed.duration_ms {
        field(output, "took", seconds(ms))?;
    }
    field(output, "message", clean_line(&killed.message))?;
    if !killed.success {
        let why = killed
            .error
            .as_deref()
            .unwrap_or("it is not confirmed that its processes have ended");
        field(output, "error", output.paint.bad(&clean_line(why)))?;
    }
    Ok(())
}
