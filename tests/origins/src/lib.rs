//! Other people's servers for tests, on loopback: real git over HTTPS behind TLS and tokens,
//! GitHub's REST API with the shapes of its responses, and Amazon Bedrock.

#![expect(
    clippy::expect_used,
    reason = "a test that cannot go on says so and ends"
)]

pub mod bedrock;
pub mod git_host;
pub mod github;

mod backend;
mod serve;
