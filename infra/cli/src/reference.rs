//! References to a work order or a run on the command line: its id, the beginning of an id, or
//! `@latest`. Each kind can stand for the other: a run has its work order, and a work order has its
//! newest run.

use awo_domain::{RunId, WorkOrderId};
use serde_json::Value;

use crate::answers::{self, Run, WorkOrder};
use crate::client::Client;
use crate::failure::Failure;

/// The newest of its kind.
const LATEST: &str = "@latest";
/// Work orders or runs of a page.
const PAGE: &str = "100";
/// Most pages in which the beginning of an id is searched.
const MAX_PAGES: u32 = 50;
/// Matches of an ambiguous beginning that are named.
const MAX_MATCHES: usize = 5;

/// A kind of thing, and its id or what leads to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// A whole id.
    Id(Id),
    /// The beginning of an id.
    Prefix(Kind, String),
    /// The newest one.
    Latest,
}

/// A work order or a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Id {
    /// A work order.
    WorkOrder(WorkOrderId),
    /// A run.
    Run(RunId),
}

/// What a reference may name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A work order.
    WorkOrder,
    /// A run.
    Run,
}

impl Kind {
    fn of(text: &str) -> Option<Kind> {
        let kinds = [Kind::WorkOrder, Kind::Run];
        let begins =
            |kind: &Kind| text.len() > kind.prefix().len() && text.starts_with(kind.prefix());
        kinds.into_iter().find(begins)
    }

    fn prefix(self) -> &'static str {
        match self {
            Kind::WorkOrder => WorkOrderId::PREFIX,
            Kind::Run => RunId::PREFIX,
        }
    }

    /// The path of the list, the name of its items, and the name of an item's id.
    fn list(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Kind::WorkOrder => ("/v1/work-orders", "workOrders", "id"),
            Kind::Run => ("/v1/runs", "runs", "runId"),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::WorkOrder => "work order",
            Kind::Run => "run",
        }
    }

    fn id(self, text: &str) -> Option<Id> {
        match self {
            Kind::WorkOrder => WorkOrderId::parse(text).ok().map(Id::WorkOrder),
            Kind::Run => RunId::parse(text).ok().map(Id::Run),
        }
    }
}

/// Reads a reference.
pub fn parse(text: &str) -> Result<Reference, String> {
    let refused = || {
        "must be the id of a work order (wo_…) or a run (run_…), the beginning of an id, or \
         @latest"
            .to_owned()
    };
    if text == LATEST {
        return Ok(Reference::Latest);
    }
    let kind = Kind::of(text).ok_or_else(refused)?;
    if let Some(id) = kind.id(text) {
        return Ok(Reference::Id(id));
    }
    let rest = &text[kind.prefix().len()..];
    let plain = rest
        .bytes()
        .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    if plain && rest.len() < ID_LETTERS {
        Ok(Reference::Prefix(kind, text.to_owned()))
    } else {
        Err(refused())
    }
}

/// Letters of an id after its prefix.
const ID_LETTERS: usize = 26;

/// The work order or run that is named; `@latest` is one of the kind given.
pub async fn any(client: &Client, wanted: &Reference, latest: Kind) -> Result<Id, Failure> {
    match wanted {
        Reference::Id(id) => Ok(id.clone()),
        Reference::Latest => newest(client, latest).await,
        Reference::Prefix(kind, prefix) => beginning_with(client, *kind, prefix).await,
    }
}

/// The run that is named: itself, or the newest of a work order.
pub async fn run(client: &Client, wanted: &Reference) -> Result<RunId, Failure> {
    let order = match any(client, wanted, Kind::Run).await? {
        Id::Run(run) => return Ok(run),
        Id::WorkOrder(order) => order,
    };
    let text = client.get(&format!("/v1/work-orders/{order}"), &[]).await?;
    run_id(&answers::read::<WorkOrder>(&text)?.run_id)
}

/// The work order that is named: itself, or that of a run.
pub async fn work_order(client: &Client, wanted: &Reference) -> Result<WorkOrderId, Failure> {
    let run = match any(client, wanted, Kind::WorkOrder).await? {
        Id::WorkOrder(order) => return Ok(order),
        Id::Run(run) => run,
    };
    let text = client.get(&format!("/v1/runs/{run}"), &[]).await?;
    let id = answers::read::<Run>(&text)?.work_order_id;
    WorkOrderId::parse(&id).map_err(|e| Failure::Broken(format!("the response's workOrderId {e}")))
}

/// A run's id as an answer holds it.
pub fn run_id(text: &str) -> Result<RunId, Failure> {
    RunId::parse(text).map_err(|e| Failure::Broken(format!("the response's runId {e}")))
}

async fn newest(client: &Client, kind: Kind) -> Result<Id, Failure> {
    let (path, items, name) = kind.list();
    let text = client.get(path, &[("limit", "1".to_owned())]).await?;
    let page: Value = answers::read(&text)?;
    let id = page[items][0][name].as_str();
    id.and_then(|id| kind.id(id)).ok_or_else(|| {
        Failure::Refused(format!(
            "{LATEST} cannot be resolved: there is no {} yet",
            kind.name()
        ))
    })
}

/// The only one whose id begins so. Lists are newest first, and ids sort by their making.
async fn beginning_with(client: &Client, kind: Kind, prefix: &str) -> Result<Id, Failure> {
    let (path, items, name) = kind.list();
    let (mut found, mut cursor) = (Vec::new(), None);
    for _ in 0..MAX_PAGES {
        let mut query = vec![("limit", PAGE.to_owned())];
        query.extend(cursor.map(|cursor| ("cursor", cursor)));
        let page: Value = answers::read(&client.get(path, &query).await?)?;
        let ids = page[items].as_array().into_iter().flatten();
        let ids: Vec<&str> = ids.filter_map(|item| item[name].as_str()).collect();
        let matches = ids.iter().filter(|id| id.starts_with(prefix));
        found.extend(matches.filter_map(|id| kind.id(id)));
        // What is older than the beginning cannot have it.
        let is_past = ids.last().is_none_or(|id| *id < prefix);
        cursor = page["nextCursor"].as_str().map(str::to_owned);
        if is_past || cursor.is_none() {
            break;
        }
    }
    match found.as_slice() {
        [only] => Ok(only.clone()),
        [] => Err(Failure::Refused(format!(
            "no {} has an id that begins with {prefix}\n  what to do: `awo list` and `awo runs` \
             show the ids of this key",
            kind.name()
        ))),
        many => {
            let shown: Vec<String> = many.iter().take(MAX_MATCHES).map(Id::to_string).collect();
            let more = if many.len() > MAX_MATCHES {
                ", …"
            } else {
                ""
            };
            Err(Failure::Refused(format!(
                "{} {}s have an id that begins with {prefix}: {}{more}\n  what to do: use a \
                 longer prefix",
                many.len(),
                kind.name(),
                shown.join(", ")
            )))
        }
    }
}

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Id::WorkOrder(id) => id.fmt(f),
            Id::Run(id) => id.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_its_beginning_and_the_latest_are_references() {
        let ulid = "01k0000000000000000000000a";
        let whole = |text: String| matches!(parse(&text), Ok(Reference::Id(_)));
        assert!(whole(format!("run_{ulid}")) && whole(format!("wo_{ulid}")));
        assert_eq!(parse("@latest"), Ok(Reference::Latest));
        let run = Reference::Prefix(Kind::Run, "run_01k0".to_owned());
        assert_eq!(parse("run_01k0"), Ok(run));
        for bad in [
            "",
            "wo_",
            "org_x",
            "latest",
            "run_../../etc",
            "wo_ABC",
            "run_01k0000000000000000000000abc",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
