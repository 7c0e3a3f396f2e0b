//! Reports that come in pages of rows.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::answers;
use crate::client::Client;
use crate::failure::Failure;
use crate::output::Output;

/// The rows of a page, without the rest of the report.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RowPage<R> {
    rows: Vec<R>,
    next_cursor: Option<String>,
}

/// The first page of a report, to be shown as a table; none if it was printed as the API's CSV or JSON.
pub async fn first_page(
    client: &Client,
    (path, query): (&str, &[(&str, String)]),
    is_csv: bool,
    output: &Output,
) -> Result<Option<String>, Failure> {
    if is_csv {
        let csv = client.get_as(path, query, "text/csv").await?;
        output.line(csv.trim_end())?;
        return Ok(None);
    }
    let text = client.get(path, query).await?;
    if output.is_json() {
        output.line(&text)?;
        return Ok(None);
    }
    Ok(Some(text))
}

/// The rows of all pages from this cursor on; none without a cursor.
pub async fn further_rows<R: DeserializeOwned>(
    client: &Client,
    (path, query): (&str, &[(&str, String)]),
    mut cursor: Option<String>,
) -> Result<Vec<R>, Failure> {
    let mut rows = Vec::new();
    while let Some(from) = cursor.take() {
        let mut next = query.to_vec();
        next.push(("cursor", from));
        let page: RowPage<R> = answers::read(&client.get(path, &next).await?)?;
        rows.extend(page.rows);
        cursor = page.next_cursor;
    }
    Ok(rows)
}
