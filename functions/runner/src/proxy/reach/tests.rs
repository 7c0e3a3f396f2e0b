use super::*;

fn refusal(body: &str) -> Option<String> {
    let named = ["allowed.example", "*.allowed.example", "one.example"];
    let hosts = EgressHosts::of(&named.map(str::to_owned)).unwrap();
    check(&hosts, body.as_bytes())
        .err()
        .map(|why| why.to_string())
}

/// Bodies of calls, and the member of each by which the provider would reach a host.
const REACHING: [(&str, &str); 18] = [
    (
        r#"{"tools":[{"type":"web_fetch_20250910","name":"web_fetch"}]}"#,
        "tools.0.type",
    ),
    (
        r#"{"tools":[{"name":"x"},{"type":"web_search_20250305","allowed_domains":[]}]}"#,
        "tools.1.type",
    ),
    (
        r#"{"tools":[{"type":"web_search_preview"}]}"#,
        "tools.0.type",
    ),
    (
        r#"{"tools":[{"type":"web_fetch_20250910","allowed_domains":["allowed.example","evil.example"]}]}"#,
        "allowed_domains: evil.example",
    ),
    // The host alone is named, and the provider would take the names below it as well.
    (
        r#"{"tools":[{"type":"web_search","filters":{"allowed_domains":["one.example"]}}]}"#,
        "allowed_domains: one.example",
    ),
    (
        r#"{"mcp_servers":[{"type":"url","url":"https://evil.example/mcp"}]}"#,
        "mcp_servers.0.url",
    ),
    (
        r#"{"tools":[{"type":"mcp","server_url":"https://evil.example/mcp"}]}"#,
        "tools.0.server_url",
    ),
    (
        r#"{"tools":[{"type":"mcp","connector_id":"connector_x"}]}"#,
        "tools.0: ",
    ),
    (
        r#"{"tools":[{"type":"namespace","tools":[{"type":"mcp","server_url":"https://evil.example"}]}]}"#,
        "tools.0.tools.0.server_url",
    ),
    (
        r#"{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://evil.example/?d=1"}}]}]}"#,
        "messages.0.content.0.source.url",
    ),
    (
        r#"{"messages":[{"content":[{"type":"tool_result","content":[{"type":"document","source":{"url":"https://evil.example"}}]}]}]}"#,
        "content.0.source.url",
    ),
    (
        r#"{"messages":[{"content":[{"type":"image","source":{"type":"url","url":"https://one.example","url":"https://evil.example"}}]}]}"#,
        "source.url",
    ),
    (
        r#"{"messages":[{"content":[{"type":"image_url","image_url":{"url":"http://evil.example/x.png"}}]}]}"#,
        "image_url.url",
    ),
    (
        r#"{"input":[{"content":[{"type":"input_image","image_url":"https://evil.example/x.png"}]}]}"#,
        "input.0.content.0.image_url",
    ),
    (
        r#"{"input":[{"content":[{"type":"input_file","file_url":"https://169.254.169.254/"}]}]}"#,
        "file_url",
    ),
    (
        r#"{"input":[{"content":[{"type":"input_image","image_url":"gs://bucket/x"}]}]}"#,
        "image_url",
    ),
    (r#"{"model":"gpt-4o-search-preview"}"#, "model"),
    (r#"{"model":"o3-deep-research"}"#, "model"),
];

#[test]
fn a_provider_is_asked_to_reach_no_host_that_egress_does_not_name() {
    for (body, member) in REACHING {
        let why = refusal(body).unwrap_or_default();
        assert!(why.contains(member), "{body}: {why:?}");
        assert!(why.contains("egress"), "{why}");
    }
}

#[test]
fn named_hosts_content_and_what_tools_are_given_are_passed_on() {
    for body in [
        r#"{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"see https://evil.example"}]}"#,
        r#"{"tools":[{"type":"web_fetch_20250910","allowed_domains":["allowed.example/docs"]}]}"#,
        r#"{"mcp_servers":[{"type":"url","url":"https://one.example/mcp"}]}"#,
        r#"{"tools":[{"type":"mcp","server_url":"https://ONE.example:8443/mcp"}]}"#,
        r#"{"messages":[{"content":[{"type":"image","source":{"type":"base64","data":"aGk="}}]}]}"#,
        r#"{"messages":[{"content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,aGk="}}]}]}"#,
        // Arguments and schemas of the agent's own tools.
        r#"{"messages":[{"content":[{"type":"tool_use","input":{"type":"url","url":"https://evil.example","base_url":"https://evil.example"}}]}]}"#,
        r#"{"tools":[{"name":"f","input_schema":{"properties":{"base_url":{"default":"https://evil.example"}}}}]}"#,
        r#"{"input":[{"type":"function_call","arguments":"{\"url\":\"https://evil.example\"}"}]}"#,
        // What a provider has found already.
        r#"{"messages":[{"content":[{"type":"web_search_tool_result","content":[{"type":"web_search_result","url":"https://evil.example"}]}]}]}"#,
        r#"{"input":[{"type":"web_search_call","action":{"type":"open_page","url":"https://evil.example"}}]}"#,
    ] {
        assert_eq!(refusal(body), None, "{body}");
    }
}
