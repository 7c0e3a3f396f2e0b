//! Bars of a chart in the terminal.

/// Cells of the longest bar, where there is room for it.
pub const CELLS: usize = 24;
/// A cell of a bar by eighths.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// A bar of a share of so many cells, in eighths of a cell.
pub fn bar(share: f64, cells: usize) -> String {
    let eighths = rounded(share, cells * 8);
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// A bar with what it lacks to the whole.
pub fn filled(share: f64, cells: usize) -> String {
    let full = rounded(share, cells);
    format!("{}{}", "█".repeat(full), "░".repeat(cells - full))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "the share is between 0 and 1, so the result is between 0 and the whole"
)]
fn rounded(share: f64, whole: usize) -> usize {
    (share.clamp(0.0, 1.0) * whole as f64).round() as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_share() {
        for (share, cells) in [(0.0, 0), (1.0, CELLS), (0.5, CELLS / 2), (1e300, CELLS)] {
            assert_eq!(bar(share, CELLS).chars().count(), cells, "{share}");
        }
        assert_eq!(bar(1.0 / 192.0, CELLS), "▏");
    }

    #[test]
    fn a_filled_bar_never_leaves_its_frame() {
        for (share, full) in [(0.0, 0), (0.5, 15), (1.0, 30), (-3.0, 0), (1e300, 30)] {
            let bar = filled(share, 30);
            assert_eq!(bar.matches('█').count(), full, "{share}");
            assert_eq!(bar.chars().count(), 30, "{share}");
        }
    }
}
