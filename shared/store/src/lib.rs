//! DynamoDB: keys, items and transactions. The only crate that builds a key or an expression.
//!
//! Every change of state is a conditional write: the losing side gets the current state and
//! nothing else happens. Writes that belong together are one transaction.
//!
//! Four tables by concern, so that policies can separate access:
//!
//! | table | partition key | sort key | item |
//! |---|---|---|---|
//! | work | `<org>#wo` | work order id | work order |
//! | work | `<org>#run` | run id | run |
//! | work | `<org>#<run>#event` | sequence | timeline event |
//! | work | `<org>#<run>#log` | iteration | end of the agent's output in an iteration |
//! | work | `<org>#<run>#diff` | part | the run's diff, by its newest commit |
//! | work | `<org>#<run>#audit` | number | configuration snapshot, never changed |
//! | work | `<org>#queue` | work order id | waiting entry |
//! | work | `<org>#<work order>#child` | work order id | link to a child |
//! | work | `<org>#waiting` | work order id | work order whose children have not ended |
//! | work | `<org>#cascade` | work order id | stop that is not yet applied to children |
//! | work | `<org>#lease` | run id | slot lease: exists exactly as long as the slot is taken |
//! | work | `<org>` | `tally` | slots, waiting entries, totals by status, turn of the tenants, whether there are webhooks |
//! | work | `<org>` | `turns` | when the next turn at the tally is free, while there are rivals |
//! | work | `<org>#idem` | hash | stored response to an idempotency key |
//! | work | `<org>#stream` | number | permit of a live stream |
//! | work | `<org>#purging` | number | permit of a purge under way |
//! | work | `<org>#killing` | work order id and number | permit of a kill that waits for the run's end |
//! | work | `<org>#verification` | number | permit of a manual verification, with its whole state |
//! | work | `deployment#tasks` | `shard#` and number | taken capacity permits of all organizations, a part of them |
//! | work | `deployment#tasks` | `waits#` and organization | capacity waiter |
//! | work | `deployment#prices` | `credits` | dollars for a credit, over time |
//! | work | `<org>#prompt` | work order id | prompt of more than 512 bytes |
//! | work | `<org>#purge` | work order id | remains of purged work orders, to be deleted |
//! | work | `<org>#usage` | completion and run id | usage of a run |
//! | work | `<org>#day` | day, or day and model | sums of a day |
//! | work | `<org>#again` | completion and run id | when runs of the same work order were on earlier days |
//! | work | `<org>#costnew` | transaction id | cost of a run, or a refund, not yet in sums |
//! | work | `<org>#cost` | transaction id | the same, in sums, never changed |
//! | work | `<org>#costsum` | dimension, day or month, and value | sums of costs |
//! | work | `<org>#costhead` | `head` | how often costs were added to sums |
//! | work | `<org>#costhead` | `label#` and label | distinct values of a cost label |
//! | work | `<org>#ledger` | `checkpoint` | up to where the ledger is checked |
//! | ledger | `<org>` | `balance` | balance, reserved, available |
//! | ledger | `<org>#entry` | transaction id | ledger entry, never changed |
//! | ledger | `<org>#hold` | run id | hold, never changed |
//! | ledger | `<org>#settled` | run id | how the hold was resolved, never changed |
//! | ledger | `<org>#budget` | budget id, epoch and period | what a budget counts in a period |
//! | ledger | `<org>#statement` | month | statement of a closed month, never changed |
//! | ledger | `<org>#refunded` | run id | sum of the refunds of a run |
//! | settings | `<org>` | `org` | organization |
//! | settings | `<org>#costs` | `policy` | declaration about costs |
//! | settings | `<org>#key` | key id | index of keys |
//! | settings | `<org>#template` | template id | template of the organization |
//! | settings | `<org>#templates` | `count` | number of templates |
//! | settings | `<org>#environment` | name | environment of the organization |
//! | settings | `<org>#environments` | `count` | number of environments |
//! | settings | `<org>#providers` | `settings` | base URLs of model providers, and what answers Messages |
//! | settings | `<org>#task` | `definition` | the organization's task definition, and its origin |
//! | settings | `<org>#plugin` | plugin id | plugin of the organization, or a built-in one's switch |
//! | settings | `<org>#plugins` | `count` | number of its own plugins |
//! | settings | `<org>#webhook` | webhook id | webhook with its secrets |
//! | settings | `<org>#webhooks` | `count` | number of webhooks |
//! | settings | `<org>#webhook-answer` | hash | stored response with a secret |
//! | settings | `<org>#profile` | name | profile of the organization |
//! | settings | `<org>#profiles` | `changes` | number of changes: all changes go through it |
//! | settings | `key#<key id>` | `key` | API key, as operators see it |
//! | settings | `credential#<hash of a key>` | `credential` | a key's organization, scopes and rate window |
//! | deliveries | `<org>#outbox` | run id and sequence | event without deliveries yet |
//! | deliveries | `<org>#sending` | number | permit of a function that sends to receivers |
//! | deliveries | `<org>#<webhook>#delivery` | delivery id | delivery of an event to a webhook |
//! | deliveries | `<org>#<webhook>#delivery_permit` | number | permit of a sender to a webhook |

pub mod attempts;
pub mod audit;
pub mod batch;
pub mod budgets;
pub mod call_permits;
pub mod cascades;
pub mod charges;
pub mod checkpoints;
pub mod cost_backfill;
pub mod cost_policy;
pub mod cost_report;
pub mod costs;
pub mod credit_prices;
pub mod credits;
pub mod deliveries;
pub mod delivery_permits;
pub mod details;
pub mod diffs;
pub mod dispatch;
pub mod endings;
pub mod environments;
pub mod erasure;
pub mod family;
pub mod finishes;
pub mod holds;
pub mod idempotency;
pub mod keys;
pub mod lease;
pub mod list;
pub mod logs;
pub mod no_capacity;
pub mod notifications;
pub mod organizations;
pub mod outbox;
pub mod parents;
pub mod places;
pub mod plugins;
pub mod profiles;
pub mod prompts;
pub mod providers;
pub mod purge;
pub mod queue_view;
pub mod reports;
pub mod runs;
pub mod schema;
pub mod settlement;
pub mod starts;
pub mod statements;
pub mod stops;
pub mod summary;
pub mod sums;
pub mod suspension;
pub mod suspicion;
pub mod sweep;
pub mod tally;
pub mod task_definitions;
pub mod templates;
pub mod timeline;
pub mod usage;
pub mod verifications;
pub mod webhooks;
pub mod work_orders;

mod change;
mod item;
mod subscribers;
mod table;
mod transaction;
mod transitions;
mod turns;
mod write_batch;

pub use table::{Store, Tables};
