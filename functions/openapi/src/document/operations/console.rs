//! The console's files.

use awo_http::routes;
use serde_json::{Value, json};

use crate::document::operation::{Operation, Success};
use crate::document::schema::Schemas;

fn text(description: &str) -> Value {
    json!({ "type": "string", "description": description })
}

pub fn all(_: &mut Schemas) -> Vec<Operation> {
    let known = "The `ETag` of the file that you have: if it is the same, the answer is 304.";
    let is_known = || Success::not_modified("You have the file as it is.");
    let moved = Success::moved("The page is at the same path with a slash at its end.");
    let page = Operation::of(
        &routes::GET_CONSOLE,
        "Get the console",
        "A page for browsers, at `/console/`: what was spent, and what runs. It needs no key; the calls that \
         it makes have the key that a person enters.",
    )
    .header("If-None-Match", json!({ "type": "string" }), known)
    .answers(Success::file("The page."))
    .answers_also(200, "text/html", text("The page."))
    .answers(moved)
    .answers(is_known());
    let file = Operation::of(
        &routes::GET_CONSOLE_FILE,
        "Get a file of the console",
        "What the page loads: scripts and styles.",
    )
    .header("If-None-Match", json!({ "type": "string" }), known)
    .answers(Success::file("The file."))
    .answers_also(200, "text/javascript", text("A script."))
    .answers_also(200, "text/css", text("Styles."))
    .answers_also(200, "text/html", text("The page."))
    .answers(is_known());
    vec![page, file]
}
