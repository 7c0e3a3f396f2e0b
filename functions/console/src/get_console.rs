//! `GET /console/`: the page, and the files that it loads.

use awo_cloud::{Cloud, SetupError};
use awo_http::site::{File, Site};
use awo_http::{HttpFunction, routes};

/// A browser loads these files and no others, runs no script that is written into a page, and calls
/// the origin that they came from and no other host.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

static SITE: Site = Site::folder(
    &[
        File::html("index.html", include_str!("../static/index.html")),
        File::css("console.css", include_str!("../static/console.css")),
        File::css(
            "uplot.css",
            include_str!("../static/vendor/uplot-1.6.32.css"),
        ),
        File::script("uplot.js", include_str!("../static/vendor/uplot-1.6.32.js")),
        File::script("console.js", include_str!("../static/console.js")),
        File::script("actions.js", include_str!("../static/actions.js")),
        File::script("address.js", include_str!("../static/address.js")),
        File::script("api.js", include_str!("../static/api.js")),
        File::script("budgets.js", include_str!("../static/budgets.js")),
        File::script("changes.js", include_str!("../static/changes.js")),
        File::script("chart.js", include_str!("../static/chart.js")),
        File::script("checks.js", include_str!("../static/checks.js")),
        File::script("close.js", include_str!("../static/close.js")),
        File::script("diff.js", include_str!("../static/diff.js")),
        File::script("dom.js", include_str!("../static/dom.js")),
        File::script("download.js", include_str!("../static/download.js")),
        File::script("drill.js", include_str!("../static/drill.js")),
        File::script("editor.js", include_str!("../static/editor.js")),
        File::script("focus.js", include_str!("../static/focus.js")),
        File::script("format.js", include_str!("../static/format.js")),
        File::script("inboxes.js", include_str!("../static/inboxes.js")),
        File::script("invoice.js", include_str!("../static/invoice.js")),
        File::script("key.js", include_str!("../static/key.js")),
        File::script("list.js", include_str!("../static/list.js")),
        File::script("money.js", include_str!("../static/money.js")),
        File::script("outcomes.js", include_str!("../static/outcomes.js")),
        File::script("periods.js", include_str!("../static/periods.js")),
        File::script("phases.js", include_str!("../static/phases.js")),
        File::script(
            "provider_report.js",
            include_str!("../static/provider_report.js"),
        ),
        File::script("queue.js", include_str!("../static/queue.js")),
        File::script("run.js", include_str!("../static/run.js")),
        File::script("runs.js", include_str!("../static/runs.js")),
        File::script("schedules.js", include_str!("../static/schedules.js")),
        File::script("scopes.js", include_str!("../static/scopes.js")),
        File::script("setup.js", include_str!("../static/setup.js")),
        File::script("spend.js", include_str!("../static/spend.js")),
        File::script("statements.js", include_str!("../static/statements.js")),
        File::script("stream.js", include_str!("../static/stream.js")),
        File::script("submit.js", include_str!("../static/submit.js")),
        File::script("syntax.js", include_str!("../static/syntax.js")),
        File::script("thread.js", include_str!("../static/thread.js")),
        File::script("triggers.js", include_str!("../static/triggers.js")),
        File::script("webhooks.js", include_str!("../static/webhooks.js")),
        File::script("zip.js", include_str!("../static/zip.js")),
    ],
    POLICY,
);

/// The function `get-console`.
///
/// # Errors
/// When a setting is missing.
pub fn function(cloud: &Cloud) -> Result<HttpFunction, SetupError> {
    SITE.function(cloud, &routes::GET_CONSOLE)
}
