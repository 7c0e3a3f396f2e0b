//! A provider's answer, piece by piece, whatever it came as.

use awo_domain::control::Provider;
use bytes::Bytes;
use http::StatusCode;
use http::header::HeaderMap;

use super::bedrock::Events;
use super::outage::Outage;
use super::refusal::Refusal;

/// Why a provider did not answer.
#[derive(Debug)]
pub(super) enum NoAnswer {
    /// It could not be reached: a sentence without addresses and keys.
    Outage(String),
    /// It was not asked.
    Refused(Refusal),
}

/// The next piece of an answer.
pub(super) enum Next {
    Piece(Bytes),
    /// The answer is whole.
    End,
    /// It reported that it cannot go on: what it did, as a predicate.
    Failed(String),
    /// It did not go on: what it did, as a predicate.
    Broken(String),
}

/// An answer that began.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    /// What the provider did, as a predicate, where this answer is an outage of its own kind.
    failure: Option<String>,
    body: Body,
}

enum Body {
    Passed(Box<reqwest::Response>),
    Events(Box<Events>),
    Whole(Option<Bytes>),
}

impl Answer {
    /// A keyed provider's.
    pub(super) fn of(answer: reqwest::Response) -> Answer {
        Answer {
            status: answer.status(),
            headers: answer.headers().clone(),
            failure: None,
            body: Body::Passed(Box::new(answer)),
        }
    }

    /// With other headers.
    pub(super) fn passed_on(headers: HeaderMap, answer: reqwest::Response) -> Answer {
        Answer {
            headers,
            ..Answer::of(answer)
        }
    }

    /// A translated stream.
    pub(super) fn events(headers: HeaderMap, events: Events) -> Answer {
        Answer {
            status: StatusCode::OK,
            headers,
            failure: None,
            body: Body::Events(Box::new(events)),
        }
    }

    /// A translated failure.
    pub(super) fn whole(
        status: StatusCode,
        headers: HeaderMap,
        body: Vec<u8>,
        failure: Option<String>,
    ) -> Answer {
        Answer {
            status,
            headers,
            failure,
            body: Body::Whole(Some(Bytes::from(body))),
        }
    }

    /// The outage that it is, if it is one.
    pub(super) fn outage(&self, provider: Provider) -> Option<Outage> {
        let outage = Outage::of_answer(provider, self.status, &self.headers)?;
        Some(match &self.failure {
            Some(what) => Outage {
                what: what.clone(),
                ..outage
            },
            None => outage,
        })
    }

    /// What comes next.
    pub(super) async fn next(&mut self) -> Next {
        match &mut self.body {
            Body::Passed(answer) => match answer.chunk().await {
                Ok(Some(piece)) => Next::Piece(piece),
                Ok(None) => Next::End,
                Err(_) => Next::Broken("broke off its answer".to_owned()),
            },
            Body::Events(events) => events.next().await,
            Body::Whole(body) => body.take().map_or(Next::End, Next::Piece),
        }
    }
}
