//! `awo finance export`: the charges of a month for tools that read FOCUS, of any length.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use crate::client::Client;
use crate::failure::Failure;
use crate::output::Output;

use super::arguments::Export;

const PATH: &str = "/v1/exports/focus";
/// What the service writes last where an export broke off.
const INCOMPLETE: &str = "# incomplete";
/// How much of the end is searched for that: the line is shorter.
const END: usize = 200;

/// Writes an export to a file, or to the standard output.
pub async fn run(client: &Client, wanted: &Export, output: &Output) -> Result<(), Failure> {
    let mut query = vec![("month", wanted.month.clone())];
    query.extend(wanted.day.clone().map(|day| ("day", day)));
    let Some(path) = &wanted.out else {
        let mut stdout = std::io::stdout();
        return write(client, &query, &mut stdout).await.map(drop);
    };
    // The file is there once it is whole.
    let part = path.with_extension("part");
    let mut file = File::create(&part).map_err(|error| failed(&part, &error))?;
    let written = write(client, &query, &mut file).await;
    let rows = written.inspect_err(|_| drop(std::fs::remove_file(&part)))?;
    std::fs::rename(&part, path).map_err(|error| failed(path, &error))?;
    output.line(&format!("{rows} rows in {}", path.display()))
}

/// Copies the rows, and returns their number.
async fn write(
    client: &Client,
    query: &[(&str, String)],
    to: &mut impl Write,
) -> Result<usize, Failure> {
    let broken = |why: &dyn std::fmt::Display| Failure::Broken(format!("cannot write: {why}"));
    let mut answer = client.table(PATH, query).await?;
    let (mut lines, mut end) = (0, Vec::new());
    while let Some(piece) = answer.chunk().await.map_err(|e| client.unreachable(&e))? {
        to.write_all(&piece).map_err(|error| broken(&error))?;
        lines += piece.iter().filter(|byte| **byte == b'\n').count();
        end.extend_from_slice(&piece);
        end.drain(..end.len().saturating_sub(END));
    }
    to.flush().map_err(|error| broken(&error))?;
    if String::from_utf8_lossy(&end).contains(INCOMPLETE) {
        Err(Failure::Broken(
            "the export broke off; what was written lacks rows: repeat the command".to_owned(),
        ))
    } else {
        Ok(lines.saturating_sub(1))
    }
}

fn failed(path: &Path, error: &std::io::Error) -> Failure {
    Failure::Usage(format!("cannot write {}: {error}", path.display()))
}
