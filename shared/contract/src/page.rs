//! Limits of pages.

/// Largest page.
pub const MAX_LIMIT: u32 = 100;
/// Page size where none is asked for.
pub const DEFAULT_LIMIT: u32 = 20;
/// Largest offset; beyond it there are cursors.
pub const MAX_OFFSET: u32 = 10_000;
