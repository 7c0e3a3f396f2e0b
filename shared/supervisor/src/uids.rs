//! User ids for commands.

use std::fmt;

/// The range where an operator names none: below those of containers, above those of usual users.
const USUAL: UidRange = UidRange {
    first: 500_000,
    last: 524_287,
};

/// A text that is no range of user ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotARange(String);

impl fmt::Display for NotARange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is no range of user ids above 0, such as {USUAL}",
            self.0
        )
    }
}

impl std::error::Error for NotARange {}

/// User ids, each of which one run has; a group has the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UidRange {
    first: u32,
    last: u32,
}

impl Default for UidRange {
    fn default() -> UidRange {
        USUAL
    }
}

impl UidRange {
    /// Reads `<first>-<last>`.
    ///
    /// # Errors
    /// If it is no such range, or has the id 0.
    pub fn parse(text: &str) -> Result<UidRange, NotARange> {
        let wrong = || NotARange(text.to_owned());
        let (first, last) = text.split_once('-').ok_or_else(wrong)?;
        let number = |text: &str| {
            text.trim()
                .parse::<u32>()
                .ok()
                .filter(|uid| *uid < u32::MAX)
        };
        match (number(first), number(last)) {
            (Some(first), Some(last)) if 0 < first && first <= last => Ok(UidRange { first, last }),
            _ => Err(wrong()),
        }
    }

    /// True if this process's user namespace has all of them, as that of the machine does.
    #[must_use]
    pub fn is_mapped(self) -> bool {
        let map = std::fs::read_to_string("/proc/self/uid_map");
        map.is_ok_and(|map| self.is_in(&map))
    }

    fn is_in(self, map: &str) -> bool {
        map.lines().any(|line| {
            let mut numbers = line.split_ascii_whitespace().map(str::parse::<u64>);
            let (Some(Ok(first)), Some(Ok(count))) = (numbers.next(), numbers.nth(1)) else {
                return false;
            };
            first <= u64::from(self.first) && u64::from(self.last) < first.saturating_add(count)
        })
    }

    /// True if it has this id.
    #[must_use]
    pub fn contains(self, uid: u32) -> bool {
        (self.first..=self.last).contains(&uid)
    }

    /// All of them, from one that depends on the name.
    pub fn beginning_at(self, name: &str) -> impl Iterator<Item = u32> {
        // FNV-1a: the same on every machine, and it need not withstand anybody.
        let hash = name.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        });
        let beginning = self.first + hash % (self.last - self.first).saturating_add(1);
        (beginning..=self.last).chain(self.first..beginning)
    }
}

impl fmt::Display for UidRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_each_of_its_ids_once_and_never_roots() {
        let range = UidRange::parse("7-9").unwrap();
        for name in ["a", "b", "c"] {
            let mut ids: Vec<u32> = range.beginning_at(name).collect();
            ids.sort_unstable();
            assert_eq!(ids, [7, 8, 9]);
        }
        assert_eq!(UidRange::parse(&range.to_string()), Ok(range));
        assert!(range.is_in("0 0 4294967295") && range.is_in("0 100000 1\n1 100001 9"));
        assert!(!range.is_in("0 1000 1") && !range.is_in("0 100000 9") && !range.is_in(""));
        for bad in ["", "7", "0-9", "9-7", "a-b", "1-4294967295", "-1-7"] {
            assert!(UidRange::parse(bad).is_err(), "{bad}");
        }
    }
}
