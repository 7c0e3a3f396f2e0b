//! Refusals before API Gateway calls a function: a firewall, the API's resource policy, a limit for
//! bodies, and the throttling of methods. None of them is the product's, and each has its own
//! messages.

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
}

/// How many calls one method of one resource takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Throttle {
    /// Calls a second that go on for ever.
    pub rate: f64,
    /// Calls at once.
    pub burst: f64,
}

/// The edge of an API. Lets every call through until it is told otherwise. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Edge(Arc<Mutex<Rules>>);

#[derive(Debug, Default)]
struct Rules {
    /// Of calls whose path begins so, how many are still to be refused, and how.
    refusals: Vec<(String, u32, EdgeRefusal)>,
    throttle: Option<Throttle>,
    /// What is left of each method's burst, and since when it has been filling up.
    left: HashMap<(String, String), (f64, Instant)>,
}

impl Edge {
    /// Refuses the next calls of all paths that begin so.
    pub fn refuse(&self, path: &str, calls: u32, how: EdgeRefusal) {
        self.rules().refusals.push((path.to_owned(), calls, how));
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

    /// What a firewall or a policy has against a call to this path.
    pub(crate) fn pass(&self, path: &str) -> Result<(), GatewayResponse> {
        let mut rules = self.rules();
        let mut refusals = rules.refusals.iter_mut();
        let Some((_, left, how)) =
            refusals.find(|(start, left, _)| *left > 0 && path.starts_with(start.as_str()))
        else {
            return Ok(());
        };
        *left -= 1;
        Err(match how {
            EdgeRefusal::Filtered => GatewayResponse::Forbidden,
            EdgeRefusal::Denied => GatewayResponse::AccessDenied,
            EdgeRefusal::TooLarge => GatewayResponse::RequestTooLarge,
        })
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
