//! What a run that failed says of its failure, and the table of it in the documents.

use awo_domain::run::{RunError, RunErrorCode, RunFailure};
use serde_json::{Value, json};

use crate::template::root;

/// An error as clients get it: code and message, and what the table says of the code.
pub fn is_explained(error: &Value) {
    let code: RunErrorCode = serde_json::from_value(error["code"].clone()).unwrap();
    let stored = RunError::new(code, error["message"].as_str().unwrap());
    let of_base = RunError {
        pre_existing: true,
        ..stored.clone()
    };
    let explained = [&stored, &of_base].map(|stored| json!(RunFailure::from(stored)));
    assert!(explained.contains(error), "{error:#}");
}

#[test]
fn the_documents_have_every_error_of_a_run_with_its_category_and_remedy() {
    let page = std::fs::read_to_string(root().join("docs/api.md")).unwrap();
    let mut rows: Vec<String> = Vec::new();
    for code in RunErrorCode::ALL {
        let error = RunError::new(code, "");
        let shown = json!(RunFailure::from(&error));
        let text = |name: &str| shown[name].as_str().unwrap().to_owned();
        let retryable = if shown["retryable"] == true {
            "yes"
        } else {
            "no"
        };
        rows.push(format!(
            "| `{}` | `{}` | {retryable} | {} |",
            text("code"),
            text("category"),
            text("remedy")
        ));
    }
    let missing: Vec<&String> = rows.iter().filter(|row| !page.contains(*row)).collect();
    assert!(missing.is_empty(), "docs/api.md lacks\n{missing:#?}");
}
