//! Secrets that are marked for deletion: they refuse reads and writes until they are restored, and
//! are in no list. The real service retains their values; here these are deleted from the disk at
//! once.

use serde_json::{Value, json};

use super::{Input, Secrets, marked_for_deletion, name_of, not_found};
use crate::aws_json::Refusal;
use crate::{arn, clock};

/// Default number of secrets in a page.
const PAGE: usize = 100;

pub(super) fn delete(secrets: &mut Secrets, input: &Input) -> Result<Value, Refusal> {
    let id = input.secret_id.as_deref();
    let name = match name_of(secrets, id) {
        Ok(name) => name,
        // Forced deletion of what is not there succeeds, so that it can be repeated.
        Err(_) if input.force_delete_without_recovery && id.is_some() => {
            let id = id.unwrap_or_default();
            let now = clock::epoch_seconds(clock::now());
            return Ok(json!({"ARN": arn::secret(id), "Name": id, "DeletionDate": now}));
        }
        Err(refusal) => return Err(refusal),
    };
    let secret = secrets.get_mut(&name).ok_or_else(not_found)?;
    let (arn, now) = (secret.arn.clone(), clock::now());
    if input.force_delete_without_recovery {
        secrets.remove(&name);
    } else if secret.deleted.is_some() {
        return Err(marked_for_deletion());
    } else {
        secret.deleted = Some(now);
        // The content has to go: what is restored here has to be set anew.
        (secret.current, secret.previous) = (None, None);
    }
    Ok(json!({"ARN": arn, "Name": name, "DeletionDate": clock::epoch_seconds(now)}))
}

pub(super) fn restore(secrets: &mut Secrets, input: &Input) -> Result<Value, Refusal> {
    let name = name_of(secrets, input.secret_id.as_deref())?;
    let secret = secrets.get_mut(&name).ok_or_else(not_found)?;
    secret.deleted = None;
    Ok(json!({"ARN": secret.arn, "Name": name}))
}

/// Those whose names begin with one of the values of each filter, page by page.
pub(super) fn list(secrets: &Secrets, input: &Input) -> Value {
    let fits = |name: &str| {
        let names = input.filters.iter().filter(|filter| filter.key == "name");
        let begins = |values: &[String]| values.iter().any(|value| name.starts_with(value));
        names.into_iter().all(|filter| begins(&filter.values))
    };
    let after = input.next_token.as_deref().unwrap_or_default();
    let page = input.max_results.unwrap_or(PAGE).clamp(1, PAGE);
    let alive = secrets
        .iter()
        .filter(|(name, secret)| secret.deleted.is_none() && fits(name) && name.as_str() > after);
    let found: Vec<_> = alive.take(page + 1).collect();
    let shown = &found[..found.len().min(page)];
    let entries: Vec<Value> = shown
        .iter()
        .map(|(name, secret)| json!({"ARN": secret.arn, "Name": name}))
        .collect();
    let mut answer = json!({ "SecretList": entries });
    if let (true, Some((last, _))) = (found.len() > page, shown.last()) {
        answer["NextToken"] = json!(last);
    }
    answer
}
