//! Refusals before API Gateway calls a function: a firewall, the API's resource policy, a limit for
//! bodies, and the throttling of methods. None of them is the product's, and each has its own
//! messages. A network that loses every packet has none.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use crate::gateway::answer::GatewayResponse;

/// How the edge refuses a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeRefusal {
    /// 403, by a firewall.
    Filtered,
    /// 403, by the API's resource policy.
    Denied,
    /// 413, by a firewall that takes smaller bodies than the gateway.
    TooLarge,
    /// 429, by the account's limit of requests.
    Throttled,
    /// 500, as where the account has no execution left for the function.
    Unreachable,
    /// No answer, ever.
    Silence,
}

impl EdgeRefusal {
    /// None for silence.
    pub(crate) fn answer(self) -> Option<GatewayResponse> {
        match self {
            EdgeRefusal::Filtered => Some(GatewayResponse::Forbidden),
            EdgeRefusal::Denied => Some(GatewayResponse::AccessDenied),
            EdgeRefusal::TooLarge => Some(GatewayResponse::RequestTooLarge),
            EdgeRefusal::Throttled => Some(GatewayResponse::Throttled),
            EdgeRefusal::Unreachable => Some(GatewayResponse::FunctionUnreachable),
            EdgeRefusal::Silence => None,
        }
    }
}

/// How many calls one method of one resource takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Throttle {
    /// Calls a second that go on for ever.
    pub rate: f64,
    /// Calls at once.
    pub burst: f64,
}

/// The edge of an API. Lets every call through by default. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Edge(Arc<Mutex<Rules>>);

/// Of calls whose path begins so, how many are still to be refused, how, and how many were.
#[derive(Debug)]
struct Refusals {
    start: String,
    left: u32,
    how: EdgeRefusal,
    refused: u32,
}

#[derive(Debug, Default)]
struct Rules {
    refusals: Vec<Refusals>,
    throttle: Option<Throttle>,
    /// What is left of each method's burst, and since when it has been filling up.
    left: HashMap<(String, String), (f64, Instant)>,
}

impl Edge {
    /// Refuses the next calls of all paths that begin so.
    pub fn refuse(&self, path: &str, calls: u32, how: EdgeRefusal) {
        self.rules().refusals.push(Refusals {
            start: path.to_owned(),
            left: calls,
            how,
            refused: 0,
        });
    }

    /// How many calls were refused whose paths begin so, by the rules for just that beginning.
    #[must_use]
    pub fn refused(&self, path: &str) -> u32 {
        let rules = self.rules();
        let of_path = rules.refusals.iter().filter(|rule| rule.start == path);
        of_path.map(|rule| rule.refused).sum()
    }

    /// Refuses nothing more.
    pub fn relent(&self) {
        let mut rules = self.rules();
        rules.refusals.iter_mut().for_each(|rule| rule.left = 0);
    }

    /// Throttles each method of each resource by itself, as a stage's settings for all methods do.
    pub fn throttle(&self, throttle: Throttle) {
        let mut rules = self.rules();
        rules.throttle = Some(throttle);
        rules.left.clear();
    }

    fn rules(&self) -> MutexGuard<'_, Rules> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The refusal of a call to this path before its route is searched.
    pub(crate) fn refusal(&self, path: &str) -> Option<EdgeRefusal> {
        let mut rules = self.rules();
        let mut refusals = rules.refusals.iter_mut();
        let rule = refusals.find(|rule| rule.left > 0 && path.starts_with(&rule.start))?;
        rule.left -= 1;
        rule.refused += 1;
        Some(rule.how)
    }

    /// Takes a call of a method of a resource out of what it may take.
    pub(crate) fn take(
        &self,
        method: &str,
        resource: &str,
        now: Instant,
    ) -> Result<(), GatewayResponse> {
        let mut rules = self.rules();
        let Some(Throttle { rate, burst }) = rules.throttle else {
            return Ok(());
        };
        let key = (method.to_owned(), resource.to_owned());
        let (left, since) = rules.left.entry(key).or_insert((burst, now));
        let filled = now.duration_since(*since).as_secs_f64() * rate;
        (*left, *since) = ((*left + filled).min(burst), now);
        if *left < 1.0 {
            return Err(GatewayResponse::Throttled);
        }
        *left -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_method_has_its_own_rate_and_fills_up_again() {
        let (edge, now) = (Edge::default(), Instant::now());
        edge.throttle(Throttle {
            rate: 2.0,
            burst: 2.0,
        });
        let took = |method: &str, at: Duration| edge.take(method, "/a/{id}", now + at).is_ok();
        let second = Duration::from_secs(1);
        assert_eq!(
            [(); 3].map(|()| took("GET", Duration::ZERO)),
            [true, true, false]
        );
        assert!(took("POST", Duration::ZERO));
        assert_eq!([(); 3].map(|()| took("GET", second)), [true, true, false]);
        assert_eq!([(); 2].map(|()| took("GET", second * 3 / 2)), [true, false]);
    }
}
