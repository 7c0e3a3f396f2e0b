//! The hosts that an environment's commands reach, as the commands themselves find it.

use std::path::Path;

use awo_tests::repository::Repository;
use awo_tests::service::TestService;
use serde_json::{Value, json};

use super::runs::{order, ran};
use super::{make, wrong};

const RUN: &str = "/api/v1/verification/run";
/// What each command tries. It serves HTTP on loopback itself, which an environment names as
/// `localhost`, and asks for it by way of the proxy that its variables name.
const PROBE: &str = r#"
import base64, errno, http.client, http.server, json, os, socket, sys, threading, urllib.parse
class Page(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        seen.append([self.path, self.headers["host"], "proxy-authorization" in self.headers])
    def log_message(self, *_): pass
seen = []
page = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
threading.Thread(target=page.serve_forever, daemon=True).start()
port = page.server_address[1]
proxy = urllib.parse.urlsplit(os.environ["HTTPS_PROXY"])
pair = base64.b64encode(f"{proxy.username}:{proxy.password}".encode()).decode()
key = {"Proxy-Authorization": "Basic " + pair}
def plainly(url, headers=key):
    connection = http.client.HTTPConnection(proxy.hostname, proxy.port, timeout=30)
    connection.request("POST", url, b"hello", headers)
    answer = connection.getresponse()
    return [answer.status, answer.read().decode()]
def tunnelled(host, port, headers=key):
    connection = http.client.HTTPConnection(proxy.hostname, proxy.port, timeout=30)
    connection.set_tunnel(host, port, headers)
    try:
        connection.request("POST", "/tunnelled", b"hello")
    except OSError as why:
        return str(why)
    answer = connection.getresponse()
    return [answer.status, answer.read().decode()]
def denied(*kind):
    try: socket.socket(*kind)
    except OSError as why: return errno.errorcode[why.errno]
named = f"http://localhost:{port}"
found = {
    "plainly": plainly(named + "/plain?a=b"),
    "another host's name in a header": plainly(named + "/host", {**key, "Host": "other.test"}),
    "tunnelled": tunnelled("localhost", port),
    "in capitals": tunnelled("LOCALHOST", port),
    "without the key": [plainly(named, {})[0], tunnelled("localhost", port, {})],
    "with a wrong key": plainly(named, {"Proxy-Authorization": "Basic YXdvOng="})[0],
    "not named": [plainly("http://other.test/"), tunnelled("other.test", 443)],
    "by address": [plainly(f"http://127.0.0.1:{port}/")[0], tunnelled("169.254.170.2", 80)],
    "not a proxy's request": plainly("/plain")[0],
    "a user in the URL": plainly(f"http://localhost:80@other.test/")[0],
    "https without CONNECT": plainly("https://localhost/")[0],
    "nobody listens": tunnelled("localhost", 1),
    "sockets": [denied(socket.AF_INET, socket.SOCK_DGRAM), denied(socket.AF_INET6, socket.SOCK_STREAM)],
    "device": socket.socket().getsockopt(socket.SOL_SOCKET, 25, 16).decode(),
    "variables": [os.environ["HTTP_PROXY"] == os.environ["https_proxy"], os.environ["NO_PROXY"]],
    "seen": seen,
}
json.dump(found, open(sys.argv[1], "w"))
"#;

/// The same for setup, agent and verification, each into a file of its own. A verification of the run
/// happens in a checkout that is gone afterwards, so it judges for itself.
const CHECK: &str = "test:\n\t@python3 probe.py verified.json\n\
    \t@grep -qF '\"device\": \"lo' verified.json\n\
    \t@grep -qF '\"tunnelled\": [200, \"hello\"]' verified.json\n\
    \t@grep -qF '\"sockets\": [\"EACCES\", \"EAFNOSUPPORT\"]' verified.json\n\
    \t@echo 1 passed in 0.01s\n";

fn judge(found: &Value, by: &str) {
    let hello = json!([200, "hello"]);
    for way in [
        "plainly",
        "another host's name in a header",
        "tunnelled",
        "in capitals",
    ] {
        assert_eq!(found[way], hello, "{by}: {way}: {found:#}");
    }
    let refused = found["not named"].to_string();
    assert!(
        refused.contains("egress of the environment does not name other.test"),
        "{refused}"
    );
    assert!(
        refused.contains("Tunnel connection failed: 403"),
        "{refused}"
    );
    let seen = found["seen"].as_array().unwrap();
    assert_eq!(seen.len(), 4, "{found:#}");
    assert_eq!(seen[0][0], "/plain?a=b");
    for one in seen {
        let host = one[1].as_str().unwrap().to_lowercase();
        assert!(host.starts_with("localhost:"), "{found:#}");
        assert_eq!(one[2], false, "{found:#}");
    }
    let expected = json!({
        "without the key": [407, "Tunnel connection failed: 407 Proxy Authentication Required"],
        "with a wrong key": 407,
        "by address": [403, "Tunnel connection failed: 403 Forbidden"],
        "not a proxy's request": 400,
        "a user in the URL": 400,
        "https without CONNECT": 400,
        "nobody listens": "Tunnel connection failed: 502 Bad Gateway",
        "sockets": ["EACCES", "EAFNOSUPPORT"],
        "device": "lo\u{0}",
        "variables": [true, "localhost,127.0.0.1,::1"],
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&found[name], value, "{by}: {name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_reach_the_hosts_that_their_environment_names_and_no_other() {
    if let Err(why) = awo_supervisor::check_loopback_only() {
        println!("skipped: {why}");
        return;
    }
    let service = TestService::start(1_000_000, &[]).await;
    let environment = json!({
        "name": "narrow",
        "egress": ["localhost", "*.example.com"],
        "setup": [{ "name": "probe", "run": "python3 probe.py setup.json" }],
    });
    make(&service.client, &environment).await;
    let repository = Repository::with(&[("probe.py", PROBE), ("Makefile", CHECK)]);
    let agent = "python3 probe.py agent.json && cp setup.json from-setup.json && touch work.txt";
    let mut body = order(&repository.url(), agent);
    body["environment"] = json!("narrow");
    let run = ran(&service, &body).await;
    assert_eq!(run["status"], "succeeded", "{run:#}");
    assert_eq!(run["verified"], true, "{run:#}");
    let branch = run["branch"].as_str().unwrap();
    for (by, file) in [("setup", "from-setup.json"), ("agent", "agent.json")] {
        let found = serde_json::from_str(&repository.show(branch, file)).unwrap();
        judge(&found, by);
    }
    // One that a client requests happens in place.
    let dir = Path::new(run["workDir"].as_str().unwrap());
    let verification = json!({ "workDir": dir });
    let answer = service.client.post(RUN, &verification).await;
    let status = &answer.body["data"]["overallStatus"];
    assert_eq!(status, "passed", "{}", answer.text);
    let found = std::fs::read_to_string(dir.join("verified.json")).unwrap();
    judge(&serde_json::from_str(&found).unwrap(), "verification");
    let id = run["runId"].as_str().unwrap();
    let audit = service
        .client
        .get(&format!("/api/v1/audit/runs/{id}"))
        .await;
    let recorded = &audit.body["data"]["environment"]["egress"];
    assert_eq!(
        recorded,
        &json!(["localhost", "*.example.com"]),
        "{}",
        audit.text
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_commands_cannot_be_kept_from_a_network_egress_is_refused() {
    let service = TestService::start(1_000_000, &[("AWO_NO_EGRESS", "1")]).await;
    let environment = json!({ "name": "narrow", "egress": ["example.com"] });
    let refused = service.client.post("/v1/environments", &environment).await;
    assert_eq!(wrong(&refused), ["/egress"]);
    let open = json!({ "name": "open", "egress": [] });
    make(&service.client, &open).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn egress_names_hosts_and_no_addresses() {
    let service = TestService::start(1_000_000, &[]).await;
    let bad = [
        "10.0.0.1",
        "[::1]",
        "https://example.com",
        "example.com:443",
        "Example.com",
        "*.",
        "*",
        "",
    ];
    let environment = json!({ "name": "narrow", "egress": bad });
    let refused = service.client.post("/v1/environments", &environment).await;
    let paths = wrong(&refused);
    assert_eq!(paths.len(), bad.len(), "{paths:?}");
}
