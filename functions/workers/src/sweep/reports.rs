//! Posts reports of runs to forges.

use futures::{StreamExt, stream};

use super::bounds::Bounds;
use super::{State, SweepReport};

/// Reports that are read at once.
const PAGE: u32 = 100;

/// Posts what is due, oldest first, while there is time.
pub(super) async fn send_due(state: &State, bounds: Bounds, swept: &mut SweepReport) {
    let now = state.clock.now();
    let mut after = None;
    while !bounds.are_over() {
        let due = state.store.due_reports(after.as_ref(), now, PAGE).await;
        let page = match due {
            Ok(page) => page,
            Err(error) => {
                return swept.fail_to_read("sweep_reports_query_failed", "reports", &error);
            }
        };
        let sent = stream::iter(page.items)
            .take_while(|_| std::future::ready(!bounds.are_over()))
            .map(|report| async move {
                let sent = Box::pin(state.reports.send(&report, now)).await;
                (report, sent)
            })
            .buffer_unordered(bounds.at_once);
        let sent: Vec<_> = sent.collect().await;
        for (report, sent) in sent {
            swept.count("sweep_report_failed", report.run_id.as_str(), sent);
        }
        after = page.next;
        if after.is_none() {
            return;
        }
    }
}
