//! Deliveries to real receivers: TLS on loopback, and the tests' own name servers.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot go on has failed, also in what its tests share"
)]

mod addresses;
mod answers;
mod authority;
mod examples;
mod languages;
mod limits;
mod name_server;
mod programs;
mod receiver;
mod reuse;
mod rust_receiver;
mod trust;
mod world;
