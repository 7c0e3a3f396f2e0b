//! Which test runs which block of the documents, and which blocks this machine cannot run.

/// What holds a block to what it says.
#[derive(Debug, Clone, Copy)]
pub enum Proof {
    /// A test of `make test` or `make test-agents`, as the lists of rules name it.
    Test(&'static str),
    /// A test that ends without a result where a tool is missing.
    Where(&'static str),
    /// A script that reads the page, beside `make test`.
    Script(&'static str),
    /// It cannot run here, and a script checks what can be checked of it.
    Checked(&'static str, &'static str),
    /// It cannot run here, for this reason.
    Not(&'static str),
}

use Proof::{Checked, Not, Script, Test, Where};

const CLOUD: &str = "needs an AWS account; its shell and its calls of aws are checked";
const OPERATION: &str = "tests/deploy/check_operation.py";
const ACCOUNT: Proof = Checked(OPERATION, CLOUD);
const DOCKER: Proof = Not("needs Docker and an AWS account");
const LAMBDA: Proof = Checked(OPERATION, "needs cargo-lambda; its shell is checked");
const PICTURE: Proof = Not("a picture");
const TUTORIALS: Proof = Script("tests/tutorials/run.py");
const AGENT_TUTORIAL: Proof =
    Test("tutorial::the_tutorial_of_the_first_real_agent_works_as_it_is_written");

const RELEASE: Proof =
    Test("documents::front_page::the_commands_for_a_release_install_it_and_start_the_service");

/// By page: how the first line of blocks begins, and what holds them.
#[rustfmt::skip]
pub const TABLE: &[(&str, &[(&str, Proof)])] = &[
    (
        "README.md",
        &[
            (
                "make demo",
                Test(
                    "documents::front_page::the_first_commands_show_the_demo_and_start_the_service",
                ),
            ),
            (
                "export PATH",
                Test(
                    "documents::front_page::the_commands_for_a_repository_of_your_own_deliver_what_the_agent_did",
                ),
            ),
            (
                "awo submit --prompt @task.md",
                Test(
                    "documents::front_page::the_commands_for_a_repository_of_your_own_deliver_what_the_agent_did",
                ),
            ),
            (
                "awo submit | start",
                Test(
                    "documents::front_page::the_overview_of_the_command_line_names_commands_that_do_what_it_says",
                ),
            ),
            ("curl -fsSL", RELEASE),
            ("make test ", Not("the suites themselves, which CI runs")),
        ],
    ),
    (
        "CONTRIBUTING.md",
        &[("make demo", Not("the suites themselves, which CI runs"))],
    ),
    (
        "ARCHITECTURE.md",
        &[
            ("flowchart", PICTURE),
            (
                "shared/domain/",
                Test("documents::examples::the_folders_of_the_architecture_are_there"),
            ),
        ],
    ),
    (
        "docs/administration.md",
        &[(
            "awo admin set-app",
            Test("documents::operators::the_app_of_the_page_is_set_shown_and_removed"),
        )],
    ),
    (
        "docs/agents.md",
        &[
            (
                "awo admin set-secret",
                Test(
                    "documents::operators::what_operators_type_about_a_run_and_a_ledger_shows_them",
                ),
            ),
            ("make image", DOCKER),
            ("ARG BASE", DOCKER),
            (
                "exec my-agent",
                Test("documents::examples::an_agent_of_ones_own_is_asked_and_its_result_counts"),
            ),
            (
                "{\"summary\"",
                Test("documents::examples::an_agent_of_ones_own_is_asked_and_its_result_counts"),
            ),
            (
                "# .awo/agent.sh",
                Test(
                    "documents::examples::the_agent_that_asks_for_children_brings_together_what_they_did",
                ),
            ),
        ],
    ),
    (
        "docs/api.md",
        &[
            (
                "curl -N",
                Test(
                    "documents::examples::the_bodies_of_the_api_page_come_back_as_they_were_sent_and_are_used",
                ),
            ),
            (
                "curl -s",
                Test(
                    "documents::examples::the_bodies_of_the_api_page_come_back_as_they_were_sent_and_are_used",
                ),
            ),
            (
                "{\"",
                Test(
                    "documents::examples::the_bodies_of_the_api_page_come_back_as_they_were_sent_and_are_used",
                ),
            ),
        ],
    ),
    (
        "docs/cargo-lambda.md",
        &[
            ("make ", LAMBDA),
            ("cargo lambda", LAMBDA),
            ("version=", ACCOUNT),
            ("aws ", ACCOUNT),
        ],
    ),
    (
        "docs/cli.md",
        &[
            (
                "make run",
                Test(
                    "documents::command_line::the_commands_in_a_repository_end_with_the_change_in_the_working_copy",
                ),
            ),
            (
                "awo login",
                Test("documents::command_line::contexts_select_the_service"),
            ),
            (
                "awo list --status failed",
                Test("documents::command_line::failed_work_orders_are_started_again_by_one_line"),
            ),
            (
                "mkdir -p ~/.local/share/bash-completion",
                Test(
                    "documents::command_line::completions_and_manual_pages_are_where_shells_and_man_find_them",
                ),
            ),
            (
                "awo listen",
                Test(
                    "documents::command_line::the_commands_for_developing_post_events_to_a_receiver_of_ones_own",
                ),
            ),
        ],
    ),
    (
        "docs/ci.md",
        &[("# git", Script("tests/integrations/run.py"))],
    ),
    (
        "docs/clients.md",
        &[
            (
                "pip install openapi-generator-cli",
                Not("a pattern: make test-clients calls the generator for three languages"),
            ),
            ("import awo_client", Script("tests/clients/run.py")),
            ("import { Configuration", Script("tests/clients/run.py")),
            ("configuration := awo", Script("tests/clients/run.py")),
        ],
    ),
    (
        "docs/deploy.md",
        &[
            ("export AWS_REGION", ACCOUNT),
            ("topic=", ACCOUNT),
            ("make ", ACCOUNT),
            ("aws ", ACCOUNT),
            ("cargo build", ACCOUNT),
            (
                "awo admin",
                Test(
                    "documents::operators::the_first_run_of_a_deployment_needs_only_the_commands_of_the_page",
                ),
            ),
            (
                "awo submit",
                Test(
                    "documents::operators::the_first_run_of_a_deployment_needs_only_the_commands_of_the_page",
                ),
            ),
            (
                "{\"Effect\"",
                Not("a policy of KMS, which needs an AWS account"),
            ),
            ("cat > rules.json", ACCOUNT),
            ("echo '{\"anthropic_version", ACCOUNT),
            ("repository=", ACCOUNT),
            ("git ", ACCOUNT),
            ("arn=", ACCOUNT),
            ("eval ", ACCOUNT),
            ("for table", ACCOUNT),
        ],
    ),
    ("docs/inboxes.md", &[("awo inboxes create", Test("documents::examples::the_inbox_of_the_page_is_made_and_listed"))]),
    (
        "docs/mcp.md",
        &[
            ("claude mcp add awo", Test("tools::the_commands_of_the_page_connect_claude_code_and_codex")),
            ("claude mcp add --transport", Test("tools::the_commands_of_the_page_connect_claude_code_and_codex")),
            ("echo", Test("documents::examples::the_message_of_the_page_lists_the_tools")),
        ],
    ),
    ("docs/triggers.md", &[("INBOX=", Test("documents::examples::the_trigger_of_the_page_is_made_and_listed"))]),
    ("docs/telemetry.md", &[("cat > headers.json", Test("documents::examples::the_collector_of_the_page_is_made_and_its_token_is_not_shown"))]),
    ("docs/outcomes.md", &[("awo outcomes", Test("documents::examples::the_outcomes_of_the_page_are_printed"))]),
    ("docs/schedules.md", &[("cat > nightly.json", Test("documents::examples::the_schedule_of_the_page_is_made_and_listed"))]),
    (
        "docs/environments.md",
        &[
            ("cat > node.json", Test("documents::examples::the_environment_of_the_page_is_made_and_its_run_has_what_it_says")),
            ("cat > base.json", Test("documents::examples::the_environment_of_the_page_that_extends_another_is_made")),
            ("cat > narrow.json", Test("documents::examples::the_environment_with_hosts_of_the_page_keeps_a_run_from_all_others")),
            ("cat > python.json", Test("documents::examples::the_environment_with_a_named_index_of_the_page_is_made")),
            ("cat > pg.json", Test("documents::examples::the_environment_with_a_database_of_the_page_is_made_where_tasks_are_containers")),
        ],
    ),
    (
        "docs/finance.md",
        &[
            (
                "CREATE TABLE",
                Where("focus::tools_of_other_people_read_an_export_and_count_the_same"),
            ),
            (
                "awo finance reconcile",
                Test("documents::money::an_invoice_reports_and_statements_are_as_the_page_says"),
            ),
            (
                "awo admin set-cost-labels",
                Test(
                    "documents::operators::what_operators_type_about_a_run_and_a_ledger_shows_them",
                ),
            ),
        ],
    ),
    (
        "docs/mechanisms.md",
        &[("sequenceDiagram", PICTURE), ("stateDiagram", PICTURE)],
    ),
    (
        // The lines of `awo` in it are run by `operators::what_operators_type_…`.
        "docs/operate.md",
        &[
            ("eval ", ACCOUNT),
            ("query", ACCOUNT),
            ("aws ", ACCOUNT),
            ("arn=", ACCOUNT),
        ],
    ),
    (
        "docs/releases.md",
        &[
            ("curl -fsSL", RELEASE),
            (
                "make dist",
                Not("an optimised build, which takes minutes; release_archive tests its scripts"),
            ),
        ],
    ),
    (
        "docs/single-server.md",
        &[
            (
                "make serve-programs",
                Test(
                    "single_server::the_page_shows_the_unit_that_is_installed_and_what_is_installed_runs",
                ),
            ),
            (
                "[Unit]",
                Test(
                    "single_server::the_page_shows_the_unit_that_is_installed_and_what_is_installed_runs",
                ),
            ),
            (
                "sudo ",
                Test(
                    "documents::operators::one_servers_commands_create_a_key_drain_back_up_and_restore",
                ),
            ),
            ("awo.example.com {", Not("needs Caddy")),
        ],
    ),
    (
        "docs/tutorial-own-repository.md",
        &[
            (
                "make serve",
                Test(
                    "documents::front_page::the_first_commands_show_the_demo_and_start_the_service",
                ),
            ),
            ("export PATH", TUTORIALS),
            ("awo ", TUTORIALS),
            ("setup: ", TUTORIALS),
            ("git ", TUTORIALS),
            ("tests:", TUTORIALS),
        ],
    ),
    (
        "docs/tutorial-real-agent.md",
        &[
            (
                "npm install -g",
                Not(
                    "installs for the whole machine; make test-agents installs the same package in a folder",
                ),
            ),
            ("awo ", AGENT_TUTORIAL),
        ],
    ),
    (
        "docs/tutorial-webhook.md",
        &[
            ("print(", TUTORIALS),
            ("export WEBHOOK_SECRET", TUTORIALS),
            ("awo trigger", TUTORIALS),
            ("awo listen", TUTORIALS),
            (
                "awo webhooks",
                Test(
                    "documents::examples::a_webhook_of_the_tutorial_is_tested_and_shows_its_deliveries",
                ),
            ),
        ],
    ),
    (
        "docs/verification.md",
        &[
            (
                "version: 1",
                Test("documented::the_plan_of_the_document_runs_and_says_what_the_document_says"),
            ),
            (
                "L0 passed",
                Test("documented::the_plan_of_the_document_runs_and_says_what_the_document_says"),
            ),
            ("setup: ", TUTORIALS),
        ],
    ),
    (
        "docs/webhooks.md",
        &[
            (
                "POST /your/path",
                Test("documents::examples::the_headers_of_a_delivery_are_the_golden_ones"),
            ),
            (
                "import base64",
                Test("examples::the_receiver_in_python_takes_what_is_genuine"),
            ),
            (
                "import { createHmac",
                Test("examples::the_receiver_in_javascript_takes_what_is_genuine"),
            ),
            (
                "package main",
                Where("examples::the_receiver_in_go_takes_what_is_genuine"),
            ),
            (
                "use base64",
                Test("examples::the_receiver_in_rust_takes_what_is_genuine"),
            ),
        ],
    ),
];
