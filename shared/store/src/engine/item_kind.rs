//! The items of the tables. The kind of an item decides its table; [`Key`](super::key::Key) makes its key.

/// The four tables, by concern, so that policies can separate access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Table {
    Work,
    Ledger,
    Settings,
    Deliveries,
}

/// What an item is, with its partition key and its sort key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ItemKind {
    /// A work order: `<org>#wo`, work order id.
    WorkOrder,
    /// The same item as the parent of another work order.
    Parent,
    /// Prompt of a work order, if it has more than 512 bytes: `<org>#prompt`, work order id.
    Prompt,
    /// A run: `<org>#run`, run id.
    Run,
    /// The same item as the run whose hold a child's hold is taken out of.
    ParentRun,
    /// Timeline event: `<org>#<run>#event`, sequence.
    Event,
    /// End of the agent's output in an iteration: `<org>#<run>#log`, iteration.
    Log,
    /// A part of the run's diff, by its newest commit: `<org>#<run>#diff`, part.
    Diff,
    /// Results of a base commit, until they expire: `<org>#baseline`, hash.
    Baseline,
    /// Configuration snapshot, never changed: `<org>#<run>#audit`, number.
    Snapshot,
    /// Waiting entry: `<org>#queue`, work order id.
    QueueEntry,
    /// Turns of a thread, and the run that has it: `<org>#thread`, id of the first turn.
    Thread,
    /// The outcome of a thread: `<org>#outcome`, id of the first turn.
    Outcome,
    /// Pull request of a thread: `<org>#pull`; id of the first turn and hash of its URL.
    PullRequest,
    /// Report of a run to a forge, until it is posted or given up: `<org>#report`; run id and kind.
    Report,
    /// Link to a child: `<org>#<work order>#child`, work order id.
    Child,
    /// Work order whose children have not ended: `<org>#waiting`, work order id.
    Waiting,
    /// Stop that is not yet applied to children: `<org>#cascade`, work order id.
    Cascade,
    /// Slot lease, exists exactly as long as the slot is taken: `<org>#lease`, run id.
    Lease,
    /// Slots, waiting entries, totals by status, turn of the tenants, whether there are webhooks: `<org>`, `tally`.
    Tally,
    /// When the next turn at the tally is free, while there are rivals: `<org>`, `turns`.
    Turns,
    /// Schedule with its state: `<org>#schedule`, schedule id.
    Schedule,
    /// Number of schedules: `<org>#schedules`, `count`.
    ScheduleCount,
    /// Firing of a schedule, until it expires: `<org>#firing`; schedule id and time.
    Firing,
    /// Delivery to an inbox, until it expires: `<org>#<inbox>#received`, delivery id.
    InboxDelivery,
    /// Mark by which a delivery is a duplicate, until it expires: `<org>#<inbox>#seen`; hash of its body or id.
    DeliveryMark,
    /// Delivery to an inbox that waits for its processing: `<org>#unprocessed`; inbox id and delivery id.
    UnprocessedDelivery,
    /// Trigger with its state: `<org>#trigger`, trigger id.
    Trigger,
    /// Number of triggers: `<org>#triggers`, `count`.
    TriggerCount,
    /// Work order of a trigger and a delivery: `<org>#trigger-order`; trigger id and delivery id.
    TriggerOrder,
    /// State of a trigger for a subject: `<org>#trigger-subject`; trigger id and hash of the subject.
    TriggerSubject,
    /// Stored response to an idempotency key: `<org>#idem`, hash.
    StoredResponse,
    /// Permit of a live stream, a purge, an export, or a kill: `<org>#stream`, `#purging`, `#exporting`,
    /// `#killing`; number.
    CallPermit,
    /// Permit of a manual verification, with its whole state: `<org>#verification`, number.
    Verification,
    /// Taken capacity permits of all organizations, a part of them: `deployment#tasks`, `shard#` and number.
    CapacityShard,
    /// Organization that waits for capacity: `deployment#tasks`, `waits#` and organization.
    CapacityWaiter,
    /// Dollars for a credit, over time: `deployment#prices`, `credits`.
    CreditPrices,
    /// Remains of purged work orders, to be deleted: `<org>#purge`, work order id.
    Purge,
    /// Usage of a run: `<org>#usage`, completion and run id.
    Usage,
    /// Sums of a day: `<org>#day`, day, or day and model.
    Day,
    /// When runs of the same work order were on earlier days: `<org>#again`, completion and run id.
    Again,
    /// Cost of a run, or a refund, not yet in sums: `<org>#costnew`, transaction id.
    NewCost,
    /// The same, in sums, never changed: `<org>#cost`, transaction id.
    Cost,
    /// Sums of costs: `<org>#costsum`; dimension, day or month, and value.
    CostSums,
    /// How often costs were added to sums: `<org>#costhead`, `head`.
    CostHead,
    /// Distinct values of a cost label: `<org>#costhead`, `label#` and label.
    CostLabel,
    /// A family of task definitions, and its origin: `<org>#task`; `own`, or the identity of containers.
    TaskDefinition,
    /// Up to where the ledger is checked: `<org>#ledger`, `checkpoint`.
    Checkpoint,
    /// Balance, reserved, available: `<org>`, `balance`.
    Balance,
    /// Ledger entry, never changed: `<org>#entry`, transaction id.
    LedgerEntry,
    /// The same, of purchases and corrections, as statements list them: `<org>#listed`; month, list, id.
    ListedEntry,
    /// Purchases of a month: `<org>#purchased`, month.
    Purchased,
    /// Hold, never changed: `<org>#hold`, id of a run or a manual verification.
    Hold,
    /// Resolution of a hold, never changed: `<org>#settled`, the hold's id.
    Settlement,
    /// What a budget counts in a period: `<org>#budget`; budget id, epoch and period.
    BudgetCounter,
    /// Statement of a closed month, never changed: `<org>#statement`, month.
    Statement,
    /// Sum of the refunds of a run or a manual verification: `<org>#refunded`, its id.
    Refunds,
    /// Organization: `<org>`, `org`.
    Organization,
    /// Declaration about costs: `<org>#costs`, `policy`.
    CostPolicy,
    /// Index of keys: `<org>#key`, key id.
    KeyIndex,
    /// API key, as operators see it: `key#<key id>`, `key`.
    ApiKey,
    /// A key's organization, scopes and rate window: `credential#<hash of a key>`, `credential`.
    Credential,
    /// Template of the organization: `<org>#template`, template id.
    Template,
    /// Number of templates: `<org>#templates`, `count`.
    TemplateCount,
    /// Environment of the organization: `<org>#environment`, name.
    Environment,
    /// Number of environments: `<org>#environments`, `count`.
    EnvironmentCount,
    /// A git host, its forge and its App: `<org>#forge`, host.
    Forge,
    /// Base URLs of model providers, and what answers Messages: `<org>#providers`, `settings`.
    Providers,
    /// Plugin of the organization, or a built-in one's switch: `<org>#plugin`, plugin id.
    Plugin,
    /// Number of its own plugins: `<org>#plugins`, `count`.
    PluginCount,
    /// Profile of the organization: `<org>#profile`, name.
    Profile,
    /// Number of changes of profiles, all changes go through it: `<org>#profiles`, `changes`.
    ProfileChanges,
    /// Webhook with its secrets: `<org>#webhook`, webhook id.
    Webhook,
    /// Number of webhooks: `<org>#webhooks`, `count`.
    WebhookCount,
    /// Inbox with its secrets, found by its id alone: `inbox#<inbox id>`, `inbox`.
    Inbox,
    /// Index of inboxes: `<org>#inbox`, inbox id.
    InboxIndex,
    /// Number of inboxes: `<org>#inboxes`, `count`.
    InboxCount,
    /// Stored response with a secret, readable only by roles that may read such secrets: `<org>#webhook-answer`,
    /// `<org>#inbox-answer`; hash.
    SecretResponse,
    /// Event without deliveries yet: `<org>#outbox`, run id and sequence.
    Outbox,
    /// Permit of a function that sends to receivers: `<org>#sending`, number.
    SendPermit,
    /// Delivery of an event to a webhook: `<org>#<webhook>#delivery`, delivery id.
    Delivery,
    /// Permit of a sender to a webhook: `<org>#<webhook>#delivery_permit`, number.
    DeliveryPermit,
}

impl ItemKind {
    /// The table of items of this kind.
    #[expect(clippy::too_many_lines, reason = "a row for each kind of item")]
    pub fn table(self) -> Table {
        match self {
            ItemKind::WorkOrder
            | ItemKind::Parent
            | ItemKind::Prompt
            | ItemKind::Run
            | ItemKind::ParentRun
            | ItemKind::Event
            | ItemKind::Log
            | ItemKind::Diff
            | ItemKind::Baseline
            | ItemKind::Snapshot
            | ItemKind::QueueEntry
            | ItemKind::Thread
            | ItemKind::Outcome
            | ItemKind::PullRequest
            | ItemKind::Report
            | ItemKind::Child
            | ItemKind::Waiting
            | ItemKind::Cascade
            | ItemKind::Lease
            | ItemKind::Tally
            | ItemKind::Turns
            | ItemKind::Schedule
            | ItemKind::ScheduleCount
            | ItemKind::Firing
            | ItemKind::InboxDelivery
            | ItemKind::DeliveryMark
            | ItemKind::UnprocessedDelivery
            | ItemKind::Trigger
            | ItemKind::TriggerCount
            | ItemKind::TriggerOrder
            | ItemKind::TriggerSubject
            | ItemKind::StoredResponse
            | ItemKind::CallPermit
            | ItemKind::Verification
            | ItemKind::CapacityShard
            | ItemKind::CapacityWaiter
            | ItemKind::CreditPrices
            | ItemKind::Purge
            | ItemKind::Usage
            | ItemKind::Day
            | ItemKind::Again
            | ItemKind::NewCost
            | ItemKind::Cost
            | ItemKind::CostSums
            | ItemKind::CostHead
            | ItemKind::CostLabel
            | ItemKind::TaskDefinition
            | ItemKind::Checkpoint => Table::Work,
            ItemKind::Balance
            | ItemKind::LedgerEntry
            | ItemKind::ListedEntry
            | ItemKind::Purchased
            | ItemKind::Hold
            | ItemKind::Settlement
            | ItemKind::BudgetCounter
            | ItemKind::Statement
            | ItemKind::Refunds => Table::Ledger,
            ItemKind::Organization
            | ItemKind::CostPolicy
            | ItemKind::KeyIndex
            | ItemKind::ApiKey
            | ItemKind::Credential
            | ItemKind::Template
            | ItemKind::TemplateCount
            | ItemKind::Environment
            | ItemKind::EnvironmentCount
            | ItemKind::Forge
            | ItemKind::Providers
            | ItemKind::Plugin
            | ItemKind::PluginCount
            | ItemKind::Profile
            | ItemKind::ProfileChanges
            | ItemKind::Webhook
            | ItemKind::WebhookCount
            | ItemKind::Inbox
            | ItemKind::InboxIndex
            | ItemKind::InboxCount
            | ItemKind::SecretResponse => Table::Settings,
            ItemKind::Outbox
            | ItemKind::SendPermit
            | ItemKind::Delivery
            | ItemKind::DeliveryPermit => Table::Deliveries,
        }
    }
}
