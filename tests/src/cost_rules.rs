//! The rules of costs: each deduction and each refund has its record, once; the sums are the totals
//! of their records.

use std::collections::BTreeMap;

use awo_domain::cost::record::CostRecord;
use awo_domain::cost::sums::{Cell, LabelValues, Sums};
use serde_json::Value;

use crate::rules::{Dump, number, text};

impl Dump {
    pub(crate) fn check_costs(&self, broken: &mut Vec<String>) {
        let read = |item: &&Value| -> CostRecord {
            serde_json::from_value((*item).clone()).expect("a record of costs")
        };
        let added: Vec<CostRecord> = self.partition("#cost").iter().map(read).collect();
        let new = self.partition("#costnew");
        let new = new.iter().map(read);
        let mut booked: BTreeMap<String, (i64, i64)> = BTreeMap::new();
        for record in added.iter().cloned().chain(new) {
            let total = record.total();
            let credits = (total.credits_micro, total.refunds_micro);
            if booked.insert(record.id.to_string(), credits).is_some() {
                broken.push(format!("costs: {} is recorded twice", record.id));
            }
        }
        for entry in self.partition("#entry") {
            let amount = number(entry, "amountMicro");
            let wanted = match text(entry, "type").as_str() {
                "deduction" => (amount, 0),
                "refund" => (0, amount),
                _ => continue,
            };
            let found = booked.remove(&text(entry, "id"));
            if found != Some(wanted) {
                broken.push(format!("costs: {entry} is recorded as {found:?}"));
            }
        }
        for (id, credits) in booked.into_iter().filter(|(_, of)| *of != (0, 0)) {
            broken.push(format!("costs: {id} of {credits:?} is in no ledger"));
        }
        self.check_sums(&added, broken);
    }

    fn check_sums(&self, added: &[CostRecord], broken: &mut Vec<String>) {
        let mut wanted: BTreeMap<String, Sums> = BTreeMap::new();
        let mut values = LabelValues::default();
        for record in added {
            for cell in Cell::all_of(record, &mut values) {
                let sums = wanted.entry(cell.name());
                cell.add(sums.or_insert_with(|| cell.empty()), record);
            }
        }
        for item in self.partition("#costsum") {
            let name = text(item, "sk");
            let sums: Sums = serde_json::from_value(item.clone()).expect("sums of costs");
            let of_records = wanted.remove(&name);
            if of_records.as_ref() != Some(&sums) {
                broken.push(format!("costs: {name} is {sums:?}, not {of_records:?}"));
            }
        }
        for (name, sums) in wanted {
            broken.push(format!("costs: {name} is missing: {sums:?}"));
        }
    }
}
