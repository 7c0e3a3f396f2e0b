//! Random sequences of everything that can happen to work orders, with faults, against a small
//! model: after each step, the tables match the model, and the rules hold.
//!
//! `AWO_MODEL_SEQUENCES` is the number of sequences, `AWO_MODEL_SEED` their seed, which is printed.
//! Without them they are the same each time, so that consecutive changes are judged by the same
//! sequences. `make test-model` uses others.

mod budgets;
mod moves;
mod reference;
mod runs;
mod system;
mod verifications;

use awo_domain::budget::OnLimit;
use awo_tests::faults::Fault;
use proptest::prelude::*;
use proptest::strategy::Union;
use proptest::test_runner::{Config, RngSeed, TestCaseError, TestRunner};
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest};

use budgets::MAX_BUDGETS;
use reference::{Model, SECOND_SWEEP_MS, SWEEP_MS};
use system::System;

/// Sequences where nothing else is asked for.
const SEQUENCES: u64 = 240;
/// The seed where no other is asked for.
const SEED: u64 = 1_795_188_382_337_852;
/// Steps of a sequence.
const STEPS: std::ops::Range<usize> = 6..18;
/// Most work orders in a sequence.
const ORDERS: usize = 6;
/// The call of a step that goes wrong is one of so many.
const CALLS: u32 = 12;

/// Events of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Events {
    /// So many that are new, in order.
    Next(u64),
    /// All earlier ones.
    Again,
    /// One that comes too early.
    AfterAGap,
    /// Two in the wrong order.
    Backwards,
}

/// What happens.
#[derive(Debug, Clone, Copy)]
pub enum Move {
    Create {
        tenant: u8,
    },
    Start {
        order: usize,
    },
    Cancel {
        order: usize,
    },
    Kill {
        order: usize,
        immediate: bool,
    },
    WakeUp,
    Claim {
        order: usize,
    },
    Report {
        order: usize,
        events: Events,
    },
    /// With `dead`, the runner reports that nothing of the run is alive.
    Finish {
        order: usize,
        success: bool,
        dead: bool,
    },
    TaskDies {
        order: usize,
    },
    TaskEvent {
        order: usize,
    },
    /// A manual verification of the order's newest run, from its hold to its settlement.
    Verify {
        order: usize,
    },
    Sweep {
        beats: bool,
    },
    LoseMessages,
    /// A budget of everybody (0) or of a tenant, that covers so many holds.
    CreateBudget {
        scope: u8,
        on_limit: OnLimit,
        holds: u8,
    },
    RaiseBudget {
        budget: usize,
    },
    DeleteBudget {
        budget: usize,
    },
}

/// What happens, and what goes wrong with it: the nth call to AWS, in this way.
#[derive(Debug, Clone)]
pub struct Step {
    pub what: Move,
    pub fault: Option<(u32, Fault)>,
}

impl Move {
    fn is_backwards(&self) -> bool {
        matches!(
            self,
            Move::Report {
                events: Events::Backwards,
                ..
            }
        )
    }

    fn order(&self) -> Option<usize> {
        match self {
            Move::Start { order }
            | Move::Cancel { order }
            | Move::Kill { order, .. }
            | Move::Claim { order }
            | Move::Report { order, .. }
            | Move::Finish { order, .. }
            | Move::TaskDies { order }
            | Move::TaskEvent { order }
            | Move::Verify { order } => Some(*order),
            Move::Create { .. }
            | Move::WakeUp
            | Move::Sweep { .. }
            | Move::LoseMessages
            | Move::CreateBudget { .. }
            | Move::RaiseBudget { .. }
            | Move::DeleteBudget { .. } => None,
        }
    }

    fn budget(&self) -> Option<usize> {
        match self {
            Move::RaiseBudget { budget } | Move::DeleteBudget { budget } => Some(*budget),
            _ => None,
        }
    }
}

struct Reference;

fn events() -> impl Strategy<Value = Events> {
    prop_oneof![
        4 => (1u64..4).prop_map(Events::Next),
        1 => Just(Events::Again),
        1 => Just(Events::AfterAGap),
        1 => Just(Events::Backwards),
    ]
}

fn of_order(order: usize) -> impl Strategy<Value = Move> {
    prop_oneof![
        3 => Just(Move::Start { order }),
        2 => Just(Move::Cancel { order }),
        2 => any::<bool>().prop_map(move |immediate| Move::Kill { order, immediate }),
        6 => Just(Move::Claim { order }),
        6 => events().prop_map(move |events| Move::Report { order, events }),
        4 => any::<(bool, bool)>().prop_map(move |(success, dead)| Move::Finish { order, success, dead }),
        2 => Just(Move::TaskDies { order }),
        4 => Just(Move::TaskEvent { order }),
        2 => Just(Move::Verify { order }),
    ]
}

fn new_budget() -> impl Strategy<Value = Move> {
    let on_limit = proptest::sample::select(OnLimit::ALL.to_vec());
    let of = (0u8..3, on_limit, 0u8..4);
    of.prop_map(|(scope, on_limit, holds)| Move::CreateBudget {
        scope,
        on_limit,
        holds,
    })
}

fn of_budget(there: Vec<usize>) -> impl Strategy<Value = Move> {
    let of = (proptest::sample::select(there), any::<bool>());
    of.prop_map(|(budget, raised)| {
        if raised {
            Move::RaiseBudget { budget }
        } else {
            Move::DeleteBudget { budget }
        }
    })
}

impl ReferenceStateMachine for Reference {
    type State = Model;
    type Transition = Step;

    fn init_state() -> BoxedStrategy<Model> {
        Just(Model::default()).boxed()
    }

    fn transitions(model: &Model) -> BoxedStrategy<Step> {
        let mut moves = vec![
            (4, Just(Move::WakeUp).boxed()),
            (
                3,
                any::<bool>()
                    .prop_map(|beats| Move::Sweep { beats })
                    .boxed(),
            ),
            (1, Just(Move::LoseMessages).boxed()),
        ];
        if model.orders.len() < ORDERS {
            let create = (0u8..3).prop_map(|tenant| Move::Create { tenant });
            moves.push((6, create.boxed()));
        }
        let budgets = model.budgets_there();
        if budgets.len() < MAX_BUDGETS {
            moves.push((4, new_budget().boxed()));
        }
        if !budgets.is_empty() {
            moves.push((3, of_budget(budgets).boxed()));
        }
        if !model.orders.is_empty() {
            let of_an_order = (0..model.orders.len()).prop_flat_map(of_order);
            moves.push((30, of_an_order.boxed()));
        }
        let what = Union::new_weighted(moves);
        let fault = proptest::option::weighted(
            0.3,
            (1..=CALLS, proptest::sample::select(Fault::ALL.to_vec())),
        );
        (what, fault)
            .prop_map(|(what, fault)| Step {
                // Sent again, events in the wrong order are in the right one: how often they were
                // heard would count.
                fault: fault.filter(|_| !what.is_backwards()),
                what,
            })
            .boxed()
    }

    fn preconditions(model: &Model, step: &Step) -> bool {
        let is_there = |of: Option<usize>, there: usize| of.is_none_or(|of| of < there);
        is_there(step.what.order(), model.orders.len())
            && is_there(step.what.budget(), model.budgets.len())
    }

    fn apply(mut model: Model, step: &Step) -> Model {
        match step.what {
            Move::Create { tenant } => model.create(tenant),
            Move::Start { order } => model.start(order),
            Move::Cancel { order } => model.cancel(order),
            Move::Kill { order, immediate } => model.kill(order, immediate),
            Move::WakeUp => model.fill(None),
            Move::Claim { order } => model.claim(order),
            Move::Report { order, events } => model.report(
                order,
                match events {
                    Events::Next(more) => more,
                    Events::Backwards => 1,
                    Events::Again | Events::AfterAGap => 0,
                },
            ),
            Move::Finish {
                order,
                success,
                dead,
            } => model.finish(order, success, dead),
            Move::TaskDies { order } => model.task_dies(order),
            Move::TaskEvent { order } => model.task_event(order),
            // It changes no work order; the rules check its hold and its settlement.
            Move::Verify { .. } => {}
            Move::Sweep { beats } => {
                model.sweep(SWEEP_MS, beats);
                // A sweep that may have gone wrong is followed by another one.
                if step.fault.is_some() {
                    model.sweep(SECOND_SWEEP_MS, true);
                }
            }
            Move::LoseMessages => {}
            Move::CreateBudget {
                scope,
                on_limit,
                holds,
            } => model.create_budget(scope, on_limit, holds),
            Move::RaiseBudget { budget } => model.raise_budget(budget),
            Move::DeleteBudget { budget } => model.delete_budget(budget),
        }
        model
    }
}

struct Comparison;

impl StateMachineTest for Comparison {
    type SystemUnderTest = System;
    type Reference = Reference;

    fn init_test(_: &Model) -> System {
        System::new()
    }

    fn apply(mut system: System, model: &Model, step: Step) -> System {
        system.apply(&step, model);
        system
    }

    fn teardown(system: System, _: Model) {
        system.check_at_the_end();
    }

    fn check_invariants(system: &System, model: &Model) {
        system.check(model);
    }
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name)
        .ok()
        .and_then(|value| value.parse().ok())
}

/// Compares half of the sequences with the model.
fn compare(half: u64) {
    let sequences = setting("AWO_MODEL_SEQUENCES").unwrap_or(SEQUENCES) / 2;
    let seed = setting("AWO_MODEL_SEED").unwrap_or(SEED) + half;
    let config = Config {
        cases: u32::try_from(sequences).expect("fewer sequences"),
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        max_shrink_iters: 300,
        ..Config::default()
    };
    println!("{sequences} sequences with seed {seed}");
    let strategy = Reference::sequential_strategy(STEPS);
    let outcome = TestRunner::new(config.clone()).run(&strategy, |(model, steps, seen)| {
        Comparison::test_sequential(config.clone(), model, steps, seen);
        Ok::<(), TestCaseError>(())
    });
    if let Err(failure) = outcome {
        panic!("again with AWO_MODEL_SEED={}: {failure}", seed - half);
    }
}

// Two halves, for two cores.
#[test]
fn whatever_happens_in_whatever_order_the_tables_are_as_the_model_says() {
    compare(0);
}

#[test]
fn whatever_happens_in_whatever_other_order_the_tables_are_as_the_model_says() {
    compare(1);
}
