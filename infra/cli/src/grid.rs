//! Tables: for people as wide as the terminal, for programs whole values between tabs, or only ids.
//! Ids are never truncated, so they can be copied.

use std::fmt::Display;

use comfy_table::{Cell, CellAlignment, Color, ContentArrangement, LineStyle, Table, presets};

use crate::bars;
use crate::failure::Failure;
use crate::output::{Format, Output};
use crate::paint::{clean_line, shortened};
use crate::times;

/// Least width of what may be cut.
const MIN_CUT: usize = 12;
/// Width of columns that may be cut where the terminal's width is unknown.
const CUT_IN_PIPE: usize = 100;
/// Blanks beside a column.
const PADDING: usize = 3;

/// A column.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    name: &'static str,
    kind: Kind,
    /// Where the terminal is narrow, the highest rank is left out first; 0 stays.
    rank: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Whole,
    Cut,
    Number,
    Bar,
}

impl Column {
    /// Values that are shown whole.
    pub const fn whole(name: &'static str, rank: u8) -> Column {
        let kind = Kind::Whole;
        Column { name, kind, rank }
    }

    /// Text that may be cut.
    pub const fn cut(name: &'static str, rank: u8) -> Column {
        let kind = Kind::Cut;
        Column { name, kind, rank }
    }

    /// Numbers.
    pub const fn number(name: &'static str, rank: u8) -> Column {
        let kind = Kind::Number;
        Column { name, kind, rank }
    }

    /// A bar chart, for people alone.
    pub const fn bar(name: &'static str) -> Column {
        let kind = Kind::Bar;
        Column {
            name,
            kind,
            rank: 0,
        }
    }
}

/// A value in a row.
#[derive(Debug, Clone, Default)]
pub struct Entry {
    /// For programs.
    raw: String,
    /// For people.
    shown: String,
    colour: Option<Color>,
    /// Part of the longest bar.
    share: f64,
}

impl Entry {
    /// Text from anywhere.
    pub fn text(text: impl Display) -> Entry {
        let raw = clean_line(&text.to_string());
        let shown = raw.clone();
        Entry {
            raw,
            shown,
            ..Entry::default()
        }
    }

    /// A time: on a terminal, how long ago it was.
    pub fn time(time: &str, output: &Output) -> Entry {
        let ago = times::ago(time).filter(|_| output.terminal);
        Entry {
            raw: clean_line(time),
            shown: ago.unwrap_or_else(|| times::without_ms(time)),
            ..Entry::default()
        }
    }

    /// A status in its colour.
    pub fn status(status: &str) -> Entry {
        let colour = match status {
            "succeeded" | "passed" | "delivered" | "enabled" => Color::Green,
            "failed" | "error" | "abandoned" | "disabled" => Color::Red,
            "canceled" | "skipped" => Color::DarkGrey,
            _ => Color::Yellow,
        };
        Entry::text(status).in_colour(colour)
    }

    /// A bar of a chart.
    pub fn bar(part: f64, most: f64) -> Entry {
        Entry {
            share: if most > 0.0 { part / most } else { 0.0 },
            colour: Some(Color::Cyan),
            ..Entry::default()
        }
    }

    /// The same in a colour.
    pub fn in_colour(mut self, colour: Color) -> Entry {
        self.colour = Some(colour);
        self
    }
}

/// A table.
#[derive(Debug)]
pub struct Grid {
    columns: Vec<Column>,
    rows: Vec<(bool, Vec<Entry>)>,
}

impl Grid {
    /// Without rows.
    pub fn new(columns: &[Column]) -> Grid {
        Grid {
            columns: columns.to_vec(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn row(&mut self, entries: Vec<Entry>) {
        self.rows.push((true, entries));
    }

    /// Adds a row of details to the one before, for people alone.
    pub fn detail(&mut self, entries: Vec<Entry>) {
        self.rows.push((false, entries));
    }

    /// Shows the rows, and for people how many there are in all.
    pub fn show(&self, total: u64, what: &str, output: &Output) -> Result<(), Failure> {
        self.show_rows(what, output)?;
        let shown = self.rows.iter().filter(|(is_row, _)| *is_row).count();
        if output.is_for_programs() || shown == 0 {
            return Ok(());
        }
        output.line(&output.paint.faint(&format!("{shown} of {total} {what}")))
    }

    /// Shows the rows.
    pub fn show_rows(&self, what: &str, output: &Output) -> Result<(), Failure> {
        match output.format {
            Format::Tsv => self.tsv(output),
            Format::Ids => self.ids(output),
            _ if self.rows.is_empty() => output.line(&format!("no {what}")),
            _ => output.line(&self.fitted(Table::new().width().map(usize::from), output)),
        }
    }

    fn tsv(&self, output: &Output) -> Result<(), Failure> {
        let of_program = |column: &Column| column.kind != Kind::Bar;
        let names = self.columns.iter().filter(|column| of_program(column));
        let names: Vec<&str> = names.map(|column| column.name).collect();
        output.line(&names.join("\t"))?;
        for (_, row) in self.rows.iter().filter(|(is_row, _)| *is_row) {
            let cells = self.columns.iter().zip(row);
            let cells = cells.filter(|(column, _)| of_program(column));
            let cells: Vec<&str> = cells.map(|(_, entry)| entry.raw.as_str()).collect();
            output.line(&cells.join("\t"))?;
        }
        Ok(())
    }

    fn ids(&self, output: &Output) -> Result<(), Failure> {
        let rows = self.rows.iter().filter(|(is_row, _)| *is_row);
        let ids = rows.filter_map(|(_, row)| row.first());
        ids.into_iter().try_for_each(|id| output.line(&id.raw))
    }

    /// The table in a width; without one, as wide as it is.
    fn fitted(&self, width: Option<usize>, output: &Output) -> String {
        let widths = self.widths(width);
        let mut table = Table::new();
        table
            .load_style(
                presets::NOTHING.header_separator(LineStyle::none().fill('─').junction('─')),
            )
            .set_content_arrangement(ContentArrangement::Disabled);
        let there = |at: &usize| widths[*at].is_some();
        let columns: Vec<usize> = (0..self.columns.len()).filter(there).collect();
        table.set_header(columns.iter().map(|at| self.columns[*at].name));
        for (_, row) in &self.rows {
            let cells = columns.iter().filter_map(|at| {
                let (column, entry) = (self.columns[*at], row.get(*at)?);
                Some(cell(column, entry, widths[*at]?, output))
            });
            table.add_row(cells.collect::<Vec<_>>());
        }
        table.trim_fmt()
    }

    /// How wide each column is; none for one that is left out.
    fn widths(&self, width: Option<usize>) -> Vec<Option<usize>> {
        let natural: Vec<usize> = (0..self.columns.len()).map(|at| self.natural(at)).collect();
        let least = |at: usize| match self.columns[at].kind {
            Kind::Cut => natural[at].min(MIN_CUT),
            Kind::Bar => natural[at] / 3,
            Kind::Whole | Kind::Number => natural[at],
        };
        let Some(width) = width else {
            let cut = |at: usize| match self.columns[at].kind {
                Kind::Cut => natural[at].min(CUT_IN_PIPE),
                _ => natural[at],
            };
            return (0..natural.len()).map(|at| Some(cut(at))).collect();
        };
        // A column without a value is left out.
        let is_shown = |at: usize| {
            let mut cells = self.rows.iter().filter_map(|(_, row)| row.get(at));
            let column = self.columns[at];
            column.rank == 0 || cells.any(|entry| !entry.shown.is_empty())
        };
        let all = 0..natural.len();
        let mut widths: Vec<Option<usize>> = all
            .map(|at| Some(least(at)).filter(|_| is_shown(at)))
            .collect();
        while used(&widths) > width {
            let there = (0..widths.len()).filter(|at| widths[*at].is_some());
            let out = there.max_by_key(|at| self.columns[*at].rank);
            match out.filter(|at| self.columns[*at].rank > 0) {
                Some(out) => widths[out] = None,
                None => break,
            }
        }
        let mut free = width.saturating_sub(used(&widths));
        for (at, natural) in natural.iter().enumerate() {
            if let Some(least) = widths[at] {
                let more = (natural - least).min(free);
                widths[at] = Some(least + more);
                free -= more;
            }
        }
        widths
    }

    fn natural(&self, at: usize) -> usize {
        let column = self.columns[at];
        let cells = self.rows.iter().filter_map(|(_, row)| row.get(at));
        let widest = cells.map(|entry| entry.shown.chars().count()).max();
        let widest = match column.kind {
            Kind::Bar => Some(bars::CELLS),
            _ => widest,
        };
        widest.unwrap_or(0).max(column.name.chars().count())
    }
}

fn used(widths: &[Option<usize>]) -> usize {
    widths.iter().flatten().map(|width| width + PADDING).sum()
}

fn cell(column: Column, entry: &Entry, width: usize, output: &Output) -> Cell {
    let cell = match column.kind {
        Kind::Whole => Cell::new(&entry.shown),
        Kind::Cut => Cell::new(shortened(&entry.shown, width)),
        Kind::Number => Cell::new(&entry.shown).set_alignment(CellAlignment::Right),
        Kind::Bar => Cell::new(bars::bar(entry.share, width)),
    };
    match entry.colour.filter(|_| output.paint.is_on()) {
        Some(colour) => cell.fg(colour),
        None => cell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid() -> Grid {
        let id = "wo_01k0000000000000000000000a";
        let mut grid = Grid::new(&[
            Column::whole("work order", 0),
            Column::whole("status", 0),
            Column::whole("created", 1),
            Column::whole("run", 3),
            Column::cut("task", 2),
        ]);
        let task = "a task of many words that goes on and on until nobody reads it any more";
        let texts = [
            id,
            "succeeded",
            "2 min ago",
            "run_01k0000000000000000000000b",
            task,
        ];
        grid.row(texts.into_iter().map(Entry::text).collect());
        grid
    }

    #[test]
    fn a_table_is_no_wider_than_its_terminal_and_ids_are_whole() {
        let output = Output::new(Format::Table);
        for (width, run, task) in [(200, true, true), (80, false, true), (45, false, false)] {
            let shown = grid().fitted(Some(width), &output);
            for line in shown.lines() {
                assert!(line.chars().count() <= width, "{width}: {line:?}");
            }
            assert!(shown.contains("wo_01k0000000000000000000000a"), "{shown}");
            assert_eq!(shown.contains("run_01k"), run, "{width}");
            assert_eq!(shown.contains("a task"), task, "{width}");
        }
        let narrow = grid().fitted(Some(10), &output);
        assert!(narrow.contains("wo_01k0000000000000000000000a"), "{narrow}");
    }

    #[test]
    fn a_pipe_has_all_columns() {
        let shown = grid().fitted(None, &Output::new(Format::Table));
        assert!(
            shown.contains("run_01k") && shown.contains("a task of many"),
            "{shown}"
        );
    }
}
