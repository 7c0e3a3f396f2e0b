//! Bars of a chart in the terminal.

use comfy_table::{Cell, Color};

use crate::output::Output;

/// Cells of the longest bar.
const BAR: usize = 24;
/// A cell of a bar by eighths.
const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/// A cell with a bar.
pub fn painted(bar: String, output: &Output) -> Cell {
    let bar = Cell::new(bar);
    match output.paint.is_on() {
        true => bar.fg(Color::Cyan),
        false => bar,
    }
}

/// A bar as long as its part of the longest one, in eighths of a cell.
pub fn bar(part: f64, most: f64) -> String {
    let share = if most > 0.0 { part / most } else { 0.0 };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "the share is between 0 and 1, so there are between 0 and 8 × BAR eighths"
    )]
    let eighths = (share.clamp(0.0, 1.0) * (BAR * 8) as f64).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_its_part_of_the_longest() {
        for (part, most, cells) in [(0.0, 0.0, 0), (1.0, 1.0, BAR), (1.0, 2.0, BAR / 2)] {
            assert_eq!(bar(part, most).chars().count(), cells, "{part} of {most}");
        }
        assert_eq!(bar(1.0, 192.0), "▏");
    }
}
