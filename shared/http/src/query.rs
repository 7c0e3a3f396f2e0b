//! Query parameters: each is read by name, and unknown ones are faults.

use std::cell::RefCell;
use std::collections::BTreeMap;

use awo_domain::span::Span;
use awo_domain::{Error, Fault, Timestamp};
use lambda_http::{Request, RequestExt};

/// The parameters of a request.
#[derive(Debug)]
pub struct Query {
    values: RefCell<BTreeMap<String, Vec<String>>>,
    faults: RefCell<Vec<Fault>>,
}

impl Query {
    pub(crate) fn of(request: &Request) -> Query {
        let mut values: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in request.query_string_parameters().iter() {
            values
                .entry(name.to_owned())
                .or_default()
                .push(value.to_owned());
        }
        Query {
            values: RefCell::new(values),
            faults: RefCell::default(),
        }
    }

    /// Adds a fault of a parameter.
    pub fn fault(&self, name: &str, message: impl Into<String>) {
        self.faults.borrow_mut().push(Fault {
            path: name.to_owned(),
            message: message.into(),
        });
    }

    /// A parameter as text.
    pub fn text(&self, name: &str) -> Option<String> {
        let values = self.values.borrow_mut().remove(name)?;
        if values.len() > 1 {
            self.fault(name, "must be given once");
        }
        values.into_iter().next()
    }

    /// The parameters whose names begin so.
    pub fn beginning_with(&self, prefix: &str) -> Vec<(String, String)> {
        let names = self.values.borrow().keys().cloned().collect::<Vec<_>>();
        let names = names.into_iter().filter(|name| name.starts_with(prefix));
        names
            .filter_map(|name| self.text(&name).map(|value| (name, value)))
            .collect()
    }

    /// A parameter that reads as a type; `what` describes the valid values.
    pub fn parsed<T>(
        &self,
        name: &str,
        what: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let text = self.text(name)?;
        let parsed = parse(&text);
        if parsed.is_none() {
            self.fault(name, what);
        }
        parsed
    }

    /// A whole number within a range.
    pub fn whole(&self, name: &str, range: std::ops::RangeInclusive<u32>, default: u32) -> u32 {
        let what = format!(
            "must be a whole number from {} to {}",
            range.start(),
            range.end()
        );
        let digits = |text: &str| {
            text.bytes()
                .all(|b| b.is_ascii_digit())
                .then(|| text.parse().ok())
                .flatten()
        };
        self.parsed(name, &what, |text| {
            digits(text).filter(|n| range.contains(n))
        })
        .unwrap_or(default)
    }

    /// A period by `startDate` (in it) and `endDate` (not in it).
    pub fn span(&self) -> Span {
        let what = "must be an ISO 8601 date such as 2026-11-20, or a date and time with an offset \
                    such as 2026-11-20T08:00:00Z (a + must be sent as %2B)";
        let bound = |name| self.parsed(name, what, |text| Timestamp::parse_bound(text).ok());
        let (from, until) = (bound("startDate"), bound("endDate"));
        if matches!((from, until), (Some(from), Some(until)) if until < from) {
            self.fault("endDate", "must not be before startDate");
        }
        Span { from, until }
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// [`Error::Invalid`] with every fault, parameters that were not read included.
    pub fn finish(self) -> Result<(), Error> {
        let mut faults = self.faults.into_inner();
        for name in self.values.into_inner().into_keys() {
            faults.push(Fault {
                path: name,
                message: "is not a parameter of this operation".to_owned(),
            });
        }
        if faults.is_empty() {
            Ok(())
        } else {
            Err(Error::Invalid(faults))
        }
    }
}
