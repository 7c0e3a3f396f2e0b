//! Other people's servers for tests, on loopback: real git over HTTPS behind TLS and tokens,
//! the REST APIs of GitHub, GitLab and Gitea with the shapes of their responses, and Amazon Bedrock.

#![expect(
    clippy::expect_used,
    reason = "a test that cannot go on says so and ends"
)]

pub mod bedrock;
pub mod forge_double;
pub mod forge_reports;
pub mod git_host;
pub mod gitea;
pub mod github;
pub mod github_app;
pub mod gitlab;

mod backend;
mod serve;
