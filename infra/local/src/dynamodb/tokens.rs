//! Client request tokens of transactions. The engine has tokens, too, but runs transactions with a
//! token one at a time, including the disk flush, and scans all tokens of the last ten minutes
//! every time.
//!
//! As DynamoDB documents: a token is valid for ten minutes; a repeated request with it is executed
//! once and gets the same response; another request with it is refused.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use dynoxide::actions::transact_write_items::TransactWriteItem;

use crate::aws_json::Refusal;

const VALIDITY: Duration = Duration::from_secs(600);
const MISMATCH: &str = "com.amazonaws.dynamodb.v20120810#IdempotentParameterMismatchException";

/// The tokens of a database.
#[derive(Debug, Default)]
pub struct Tokens(Mutex<Valid>);

#[derive(Debug, Default)]
struct Valid {
    by_token: HashMap<String, Arc<Transaction>>,
    by_age: VecDeque<(Instant, String)>,
}

/// What a transaction did, and its answer; none until it succeeds.
type Transaction = Mutex<Option<(u64, String)>>;

impl Tokens {
    /// Executes the transaction, or answers as it was answered before. A refused one is executed
    /// again. `digest` is that of its items.
    ///
    /// # Errors
    /// When the token was used for other items, and what the transaction itself is refused with.
    pub fn once(
        &self,
        token: String,
        digest: u64,
        execute: impl FnOnce() -> Result<String, Refusal>,
    ) -> Result<String, Refusal> {
        let transaction = self.transaction(token);
        // Another caller with this token waits here until the first one is answered.
        let mut done = transaction.lock().unwrap_or_else(PoisonError::into_inner);
        match &*done {
            Some((same, answer)) if *same == digest => Ok(answer.clone()),
            Some(_) => {
                let message = "An error occurred (IdempotentParameterMismatchException)";
                Err(Refusal::new(400, MISMATCH, message))
            }
            None => {
                let answer = execute()?;
                *done = Some((digest, answer.clone()));
                Ok(answer)
            }
        }
    }

    fn transaction(&self, token: String) -> Arc<Transaction> {
        let now = Instant::now();
        let mut valid = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let expired = |(since, _): &mut (Instant, String)| now.duration_since(*since) >= VALIDITY;
        while let Some((_, token)) = valid.by_age.pop_front_if(expired) {
            valid.by_token.remove(&token);
        }
        if let Some(known) = valid.by_token.get(&token) {
            return known.clone();
        }
        valid.by_age.push_back((now, token.clone()));
        valid.by_token.entry(token).or_default().clone()
    }
}

/// Of the items alone, and the same in whatever order a client writes their attributes.
pub fn digest(items: &[TransactWriteItem]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for item in items {
        // A `Value` has its members in the order of their names.
        let canonical = serde_json::to_value(item).map(|value| value.to_string());
        canonical.unwrap_or_default().hash(&mut hasher);
    }
    hasher.finish()
}
