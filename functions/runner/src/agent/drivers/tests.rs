use std::fs;

use super::*;

fn agent(kind: AgentType, model: Option<&str>) -> Agent {
    Agent {
        kind,
        model: model.map(str::to_owned),
        command: None,
    }
}

fn proxy_address() -> ProxyAddress {
    ProxyAddress {
        url: "http://127.0.0.1:9".to_owned(),
        key: "awo-run-1".to_owned(),
        providers: vec![Provider::Anthropic, Provider::Openai],
        has_bedrock: false,
        limits_hosts: false,
    }
}

/// The command line behind the shell and the program, and the environment.
fn started(
    agent: &Agent,
    session_id: Option<&str>,
    usd_left: Option<f64>,
) -> (String, Environment) {
    started_for(&proxy_address(), agent, session_id, usd_left)
}

/// Starts a program as [`started`] does, with another proxy.
fn started_for(
    proxy_address: &ProxyAddress,
    agent: &Agent,
    session_id: Option<&str>,
    usd_left: Option<f64>,
) -> (String, Environment) {
    let start = Start {
        agent,
        path: OsStr::new("/nowhere"),
        proxy_address,
        session_id,
        is_moved: false,
        usd_left,
    };
    let (argv, env) = command(&start).unwrap();
    let words: Vec<&str> = argv.iter().map(|word| word.to_str().unwrap()).collect();
    assert_eq!(words[..3], ["sh", "-c", WITH_PROMPT]);
    (words[3..].join(" "), env)
}

#[test]
fn claude_code_is_started_with_its_budget_and_resumes_its_session() {
    let agent = agent(AgentType::ClaudeCode, Some("claude-sonnet-4-5"));
    let (line, env) = started(&agent, Some("s-1"), Some(1.5));
    assert_eq!(
        line,
        "claude -p --output-format stream-json --verbose --dangerously-skip-permissions \
         --model claude-sonnet-4-5 --max-budget-usd 1.5000 --resume s-1"
    );
    let retries = ("CLAUDE_CODE_MAX_RETRIES", OsString::from("1"));
    assert!(env.contains(&retries));
}

#[test]
fn claude_code_leaves_out_of_its_calls_what_bedrock_would_refuse() {
    let agent = agent(AgentType::ClaudeCode, None);
    let betas = |has_bedrock| {
        let proxy_address = ProxyAddress {
            has_bedrock,
            ..proxy_address()
        };
        let (_, env) = started_for(&proxy_address, &agent, None, None);
        let names = env.iter().map(|(name, _)| *name);
        names
            .into_iter()
            .any(|name| name == "CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS")
    };
    assert!(betas(true) && !betas(false));
}

#[test]
fn what_is_not_known_is_no_argument() {
    let (line, _) = started(&agent(AgentType::ClaudeCode, None), None, None);
    assert!(line.ends_with("--dangerously-skip-permissions"), "{line}");
}

#[test]
fn codex_speaks_to_the_proxy_and_resumes_its_thread() {
    let agent = agent(AgentType::Codex, Some("gpt-5"));
    let (line, _) = started(&agent, Some("t-1"), None);
    assert!(line.starts_with("codex exec --json --skip-git-repo-check --dangerously"));
    assert!(
        line.contains("base_url=\"http://127.0.0.1:9/openai/v1\""),
        "{line}"
    );
    assert!(line.ends_with("-m gpt-5 resume t-1 -"), "{line}");
    assert!(!line.contains("web_search"), "{line}");
}

#[test]
fn the_folder_of_a_session_is_named_as_its_program_names_it() {
    let workspace = Path::new("/tmp/awo.x/org_1/run_2/workspace");
    for (kind, folder) in [
        (
            AgentType::ClaudeCode,
            Some(".claude/projects/-tmp-awo-x-org-1-run-2-workspace"),
        ),
        (AgentType::Codex, Some(".codex/sessions")),
        (AgentType::Opencode, Some(".local/share/opencode")),
        (AgentType::Command, None),
    ] {
        assert_eq!(session_folder(kind, workspace), folder.map(PathBuf::from));
    }
}

#[test]
fn codex_names_no_search_of_the_web_where_egress_limits_hosts() {
    let agent = agent(AgentType::Codex, None);
    let proxy_address = ProxyAddress {
        limits_hosts: true,
        ..proxy_address()
    };
    let (line, _) = started_for(&proxy_address, &agent, None, None);
    assert!(line.contains("-c web_search=\"disabled\""), "{line}");
}

#[test]
fn opencode_may_use_every_tool_and_speaks_to_the_proxy() {
    let agent = agent(AgentType::Opencode, Some("anthropic/m"));
    let (line, env) = started(&agent, Some("ses_1"), None);
    assert_eq!(
        line,
        "opencode run --format json -m anthropic/m --session ses_1"
    );
    let config: serde_json::Value = serde_json::from_str(env[0].1.to_str().unwrap()).unwrap();
    assert_eq!(config["permission"]["*"], "allow");
    let options = &config["provider"]["anthropic"]["options"];
    assert_eq!(options["baseURL"], "http://127.0.0.1:9/anthropic/v1");
    assert_eq!(options["apiKey"], "awo-run-1");
}

#[test]
fn what_a_driver_lacks_is_named_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().as_os_str();
    let claude = agent(AgentType::ClaudeCode, None);
    let why = check(&claude, path, &Provider::ALL).unwrap_err().0;
    assert!(
        why.contains("npm install -g @anthropic-ai/claude-code"),
        "{why}"
    );
    for program in ["claude", "opencode"] {
        fs::write(dir.path().join(program), "").unwrap();
    }
    assert_eq!(check(&claude, path, &Provider::ALL), Ok(()));
    let why = check(&claude, path, &[Provider::Openai]).unwrap_err().0;
    assert!(why.contains("set-secret --name anthropic"), "{why}");
    for model in [None, Some("gpt-5"), Some("mystery/m")] {
        let opencode = agent(AgentType::Opencode, model);
        let why = check(&opencode, path, &Provider::ALL).unwrap_err().0;
        assert!(why.contains("agent.model"), "{why}");
    }
}
