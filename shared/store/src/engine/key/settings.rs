//! Keys of what organizations and operators set.

use awo_domain::api_key::KeyId;
use awo_domain::environment::EnvironmentName;
use awo_domain::forge::GitHostName;
use awo_domain::plugin::PluginId;
use awo_domain::profile::ProfileName;
use awo_domain::template::TemplateId;
use awo_domain::{OrgId, ScheduleId, Timestamp, WebhookId};

use super::{Key, Partition};
use crate::engine::item_kind::ItemKind;

impl Key {
    pub fn organization(org: &OrgId) -> Key {
        Key::new(ItemKind::Organization, org.as_str().to_owned(), "org")
    }

    pub fn key_index(org: &OrgId, key: &KeyId) -> Key {
        key_indexes(org).key(key.as_str())
    }

    pub fn template(org: &OrgId, id: &TemplateId) -> Key {
        templates(org).key(id.as_str())
    }

    pub fn template_count(org: &OrgId) -> Key {
        Key::new(ItemKind::TemplateCount, format!("{org}#templates"), "count")
    }

    pub fn environment(org: &OrgId, name: &EnvironmentName) -> Key {
        environments(org).key(name.as_str())
    }

    pub fn environment_count(org: &OrgId) -> Key {
        Key::new(
            ItemKind::EnvironmentCount,
            format!("{org}#environments"),
            "count",
        )
    }

    /// What an operator has set about a git host.
    pub fn forge(org: &OrgId, host: &GitHostName) -> Key {
        forges(org).key(host.as_str())
    }

    /// What an operator has set about the organization's model providers.
    pub fn providers(org: &OrgId) -> Key {
        Key::new(ItemKind::Providers, format!("{org}#providers"), "settings")
    }

    pub fn plugin(org: &OrgId, id: &PluginId) -> Key {
        plugins(org).key(id.as_str())
    }

    pub fn plugin_count(org: &OrgId) -> Key {
        Key::new(ItemKind::PluginCount, format!("{org}#plugins"), "count")
    }

    pub fn webhook(org: &OrgId, id: &WebhookId) -> Key {
        webhooks(org).key(id.as_str())
    }

    pub fn webhook_count(org: &OrgId) -> Key {
        Key::new(ItemKind::WebhookCount, format!("{org}#webhooks"), "count")
    }

    /// A first answer that shows a webhook's secret: beside the webhooks, so that only roles that may read
    /// those can read it.
    pub fn webhook_answer(org: &OrgId, hash: &str) -> Key {
        Key::new(
            ItemKind::SecretResponse,
            format!("{org}#webhook-answer"),
            hash,
        )
    }

    pub fn schedule(org: &OrgId, id: &ScheduleId) -> Key {
        schedules(org).key(id.as_str())
    }

    pub fn schedule_count(org: &OrgId) -> Key {
        Key::new(ItemKind::ScheduleCount, format!("{org}#schedules"), "count")
    }

    /// A firing of a schedule, which so has one for each time.
    pub fn firing(org: &OrgId, schedule: &ScheduleId, time: Timestamp) -> Key {
        firings(org).key(format!("{schedule}#{time}"))
    }

    pub fn profile(org: &OrgId, name: &ProfileName) -> Key {
        profiles(org).key(name.as_str())
    }

    pub fn profile_changes(org: &OrgId) -> Key {
        Key::new(
            ItemKind::ProfileChanges,
            format!("{org}#profiles"),
            "changes",
        )
    }

    pub fn api_key(key: &KeyId) -> Key {
        Key::new(ItemKind::ApiKey, format!("key#{key}"), "key")
    }

    /// What authenticates a key, by the hash of the whole key.
    pub fn credential(hash: &str) -> Key {
        Key::new(
            ItemKind::Credential,
            format!("credential#{hash}"),
            "credential",
        )
    }
}

pub(crate) fn key_indexes(org: &OrgId) -> Partition {
    Partition::new(ItemKind::KeyIndex, format!("{org}#key"))
}

pub(crate) fn templates(org: &OrgId) -> Partition {
    Partition::new(ItemKind::Template, format!("{org}#template"))
}

pub(crate) fn environments(org: &OrgId) -> Partition {
    Partition::new(ItemKind::Environment, format!("{org}#environment"))
}

pub(crate) fn forges(org: &OrgId) -> Partition {
    Partition::new(ItemKind::Forge, format!("{org}#forge"))
}

pub(crate) fn plugins(org: &OrgId) -> Partition {
    Partition::new(ItemKind::Plugin, format!("{org}#plugin"))
}

pub(crate) fn webhooks(org: &OrgId) -> Partition {
    Partition::new(ItemKind::Webhook, format!("{org}#webhook"))
}

pub(crate) fn schedules(org: &OrgId) -> Partition {
    Partition::new(ItemKind::Schedule, format!("{org}#schedule"))
}

pub(crate) fn firings(org: &OrgId) -> Partition {
    Partition::new(ItemKind::Firing, format!("{org}#firing"))
}

pub(crate) fn profiles(org: &OrgId) -> Partition {
    Partition::new(ItemKind::Profile, format!("{org}#profile"))
}

/// Partitions of all that an organization has set, beside itself and its keys.
pub(crate) fn settings_of(org: &OrgId) -> impl Iterator<Item = Partition> {
    let of = |kind, name: &str| Partition::new(kind, format!("{org}#{name}"));
    [
        templates(org),
        of(ItemKind::TemplateCount, "templates"),
        environments(org),
        of(ItemKind::EnvironmentCount, "environments"),
        forges(org),
        plugins(org),
        of(ItemKind::PluginCount, "plugins"),
        profiles(org),
        of(ItemKind::ProfileChanges, "profiles"),
        schedules(org),
        of(ItemKind::ScheduleCount, "schedules"),
        firings(org),
        webhooks(org),
        of(ItemKind::WebhookCount, "webhooks"),
        of(ItemKind::SecretResponse, "webhook-answer"),
        of(ItemKind::InboxCount, "inboxes"),
        of(ItemKind::SecretResponse, "inbox-answer"),
        super::unprocessed_deliveries(org),
        super::triggers(org),
        of(ItemKind::TriggerCount, "triggers"),
        super::trigger_orders(org),
        super::trigger_subjects(org),
        of(ItemKind::CostPolicy, "costs"),
        of(ItemKind::Providers, "providers"),
    ]
    .into_iter()
}
