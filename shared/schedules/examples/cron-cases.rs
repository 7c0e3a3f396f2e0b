//! Prints random expressions with their next times, one a line: expression, time zone, moment, and three
//! times after it, between tabs. No zone changes its offset near these, where readers of cron disagree.
//!
//! `cron-cases NUMBER SEED`; `make test-schedules` compares the lines with two other readers of cron.

use awo_domain::Timestamp;
use awo_schedules::Timetable;
use jiff::tz::TimeZone;

const ZONES: [&str; 24] = [
    "UTC",
    "Europe/Berlin",
    "Europe/London",
    "Europe/Lisbon",
    "Europe/Kyiv",
    "Europe/Istanbul",
    "America/New_York",
    "America/Chicago",
    "America/Los_Angeles",
    "America/St_Johns",
    "America/Santiago",
    "America/Sao_Paulo",
    "America/Caracas",
    "Africa/Cairo",
    "Africa/Johannesburg",
    "Asia/Kolkata",
    "Asia/Kathmandu",
    "Asia/Tokyo",
    "Asia/Shanghai",
    "Asia/Jerusalem",
    "Australia/Lord_Howe",
    "Australia/Adelaide",
    "Pacific/Chatham",
    "Pacific/Honolulu",
];
const MONTHS: [&str; 12] = [
    "JAN", "feb", "Mar", "APR", "may", "Jun", "JUL", "aug", "Sep", "OCT", "nov", "Dec",
];
const DAYS: [&str; 7] = ["SUN", "mon", "Tue", "WED", "thu", "Fri", "SAT"];
/// First moment of a case, and number of minutes within which there are others: five years.
const FIRST_MS: i64 = 1_609_459_200_000;
const MINUTES: u64 = 5 * 365 * 24 * 60;
const DAY_MS: i64 = 24 * 3_600_000;
const TIMES: usize = 3;

/// A sequence that its seed repeats (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }

    fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    fn field(&mut self, least: u64, most: u64, names: &[&str]) -> String {
        let (low, high) = (self.between(least, most), self.between(least, most));
        let (low, high) = (low.min(high), low.max(high));
        // Neither one value nor all of them: some readers take `5-5` and `0-6` for something else.
        let is_range = low < high && (low, high) != (least, most);
        match self.below(7) {
            0 | 1 => "*".to_owned(),
            2 => format!("*/{}", self.between(2, most - least)),
            3 if is_range => format!("{low}-{high}"),
            4 if is_range => format!("{low}-{high}/{}", self.between(1, high - low)),
            5 if is_range => format!("{low},{high}"),
            _ => self.name(low, least, names),
        }
    }

    fn name(&mut self, value: u64, least: u64, names: &[&str]) -> String {
        let index = usize::try_from(value - least).unwrap_or(usize::MAX);
        match names.get(index) {
            Some(name) if self.below(2) == 0 => (*name).to_owned(),
            _ => value.to_string(),
        }
    }

    fn expression(&mut self) -> String {
        let minute = match self.below(3) {
            0 => format!(
                "*/{}",
                [5, 10, 15, 20, 30][usize::try_from(self.below(5)).unwrap_or(0)]
            ),
            _ => self.below(60).to_string(),
        };
        [
            minute,
            self.field(0, 23, &[]),
            self.field(1, 31, &[]),
            self.field(1, 12, &MONTHS),
            self.field(0, 6, &DAYS),
        ]
        .join(" ")
    }
}

/// Whether a zone keeps its offset from a day before a moment to a day after another.
fn is_steady(zone: &str, from: Timestamp, to: Timestamp) -> bool {
    let start = jiff::Timestamp::from_millisecond(from.plus_ms(-DAY_MS).epoch_ms());
    let (Ok(start), Ok(zone)) = (start, TimeZone::get(zone)) else {
        return false;
    };
    let change = zone.following(start).next();
    let end = to.plus_ms(DAY_MS).epoch_ms();
    change.is_none_or(|change| change.timestamp().as_millisecond() > end)
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let mut argument = |usual| arguments.next().and_then(Result::ok).unwrap_or(usual);
    let (number, seed) = (argument(10_000), argument(1));
    let mut random = Random(seed);
    let mut printed = 0;
    while printed < number {
        let expression = random.expression();
        let zone = ZONES[usize::try_from(random.below(24)).unwrap_or(0)];
        let minutes = i64::try_from(random.below(MINUTES)).unwrap_or(0);
        let after = Timestamp::from_epoch_ms(FIRST_MS + minutes * 60_000);
        let Ok(timetable) = Timetable::read(&expression, zone) else {
            continue;
        };
        let times: Vec<Timestamp> = timetable.firings_after(after).take(TIMES).collect();
        let Some(last) = times.last().filter(|last| is_steady(zone, after, **last)) else {
            continue;
        };
        if times.len() < TIMES || last.ms_since(after) > 4 * 365 * DAY_MS {
            continue;
        }
        let times: Vec<String> = times.iter().map(ToString::to_string).collect();
        println!("{expression}\t{zone}\t{after}\t{}", times.join("\t"));
        printed += 1;
    }
}
