//! A command's access to the network, where it is limited to loopback.

use std::process::{Child, Command, Stdio};

use awo_supervisor::check_loopback_only;

use crate::scene::{SupervisedTree, exited, until};

/// False where the kernel cannot confine commands: there is nothing to see then.
fn can_be_tested() -> bool {
    match check_loopback_only() {
        Ok(()) => true,
        Err(why) => {
            println!("skipped: {why}");
            false
        }
    }
}

/// True if a program in Python ends without an error.
fn does(program: &str, extra: &[&str]) -> bool {
    let script = format!("exec python3 - <<'END'\n{program}\nEND");
    let (report, left) = SupervisedTree::start(&script, extra).finish();
    assert_eq!(left, Vec::<String>::new());
    report.end == exited(0).end
}

fn does_confined(program: &str) -> bool {
    does(program, &["--loopback-only"])
}

#[test]
fn commands_speak_to_each_other_on_loopback() {
    if !can_be_tested() {
        return;
    }
    let program = r#"
import asyncio, os, socket, subprocess, sys, threading
async def serve():
    async def echo(reader, writer):
        writer.write(await reader.readexactly(4))
        await writer.drain()
        writer.close()
    server = await asyncio.start_server(echo, "0.0.0.0", 0)
    port = server.sockets[0].getsockname()[1]
    async def ask():
        reader, writer = await asyncio.open_connection("localhost", port)
        writer.write(b"ping")
        assert await reader.readexactly(4) == b"ping"
        writer.close()
    await asyncio.gather(*[ask() for _ in range(100)])
    client = f"import socket; s = socket.create_connection(('127.0.0.1', {port}), 9); s.send(b'ping'); assert s.recv(4) == b'ping'"
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", client)
    assert await child.wait() == 0
asyncio.run(serve())
def flags(extra):
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM | extra)
    import fcntl
    return os.get_inheritable(s.fileno()), fcntl.fcntl(s, fcntl.F_GETFL) & os.O_NONBLOCK != 0
libc = __import__("ctypes").CDLL(None)
plain = libc.socket(2, 1, 0)
assert os.get_inheritable(plain)
assert flags(socket.SOCK_CLOEXEC) == (False, False)
assert flags(socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK) == (False, True)
assert libc.socket(2, 1 | 0x100, 0) == -1
a, b = socket.socketpair()
a.send(b"x"); assert b.recv(1) == b"x"
os.chdir(os.environ.get("TMPDIR", "/tmp"))
assert socket.if_nametoindex("lo") > 0 and len(socket.if_nameindex()) > 0
threads = [threading.Thread(target=lambda: [socket.socket() for _ in range(50)]) for _ in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
"#;
    assert!(does_confined(program));
}

#[test]
fn a_confined_command_has_no_socket_that_leaves_the_machine() {
    if !can_be_tested() {
        return;
    }
    let program = r#"
import ctypes, errno, os, platform, socket, struct
libc = ctypes.CDLL(None, use_errno=True)
def call(name, *arguments):
    result = getattr(libc, name)(*arguments)
    return 0 if result >= 0 else ctypes.get_errno()
def made(family, kind, protocol=0):
    return call("socket", family, kind, protocol)
STREAM, DATAGRAM, RAW, SEQUENCED = 1, 2, 3, 5
assert made(socket.AF_INET, STREAM) == 0 == made(socket.AF_INET, STREAM, 6)
assert made(socket.AF_UNIX, STREAM) == 0 == made(socket.AF_NETLINK, RAW, 0)
for kind in (DATAGRAM, RAW, SEQUENCED, DATAGRAM | socket.SOCK_CLOEXEC):
    assert made(socket.AF_INET, kind) == errno.EACCES, kind
for protocol in (1, 17, 132, 262):
    assert made(socket.AF_INET, STREAM, protocol) == errno.EPROTONOSUPPORT, protocol
for protocol in range(1, 24):
    assert made(socket.AF_NETLINK, RAW, protocol) == errno.EPROTONOSUPPORT, protocol
for family in range(0, 46):
    if family not in (socket.AF_INET, socket.AF_UNIX, socket.AF_NETLINK):
        assert made(family, STREAM) == errno.EAFNOSUPPORT, family
        assert made(family, DATAGRAM) == errno.EAFNOSUPPORT, family
assert made(socket.AF_INET | 1 << 32, DATAGRAM) in (errno.EACCES, errno.EAFNOSUPPORT)
assert call("syscall", 425, 8, ctypes.create_string_buffer(512)) == errno.EPERM
assert call("syscall", 438, 0, 0, 0) == errno.EPERM
request_key = { "x86_64": 249, "aarch64": 218 }[platform.machine()]
assert call("syscall", request_key, b"dns_resolver", b"example.com", 0, 0) == errno.EPERM
if platform.machine() == "x86_64":
    assert call("syscall", 0x40000000 | 41, 2, 2, 0) == errno.ENOSYS
s = socket.socket()
SO_BINDTODEVICE, SO_BINDTOIFINDEX = 25, 62
assert s.getsockopt(socket.SOL_SOCKET, SO_BINDTODEVICE, 16) == b"lo\0"
def refused(option, value):
    try: s.setsockopt(socket.SOL_SOCKET, option, value)
    except PermissionError: return True
assert refused(SO_BINDTODEVICE, b"") and refused(SO_BINDTODEVICE, b"eth0\0") and refused(SO_BINDTOIFINDEX, 0)
# A disconnected socket keeps its device, and so does one that was accepted.
server = socket.socket(); server.bind(("127.0.0.1", 0)); server.listen()
s.connect(server.getsockname())
accepted, _ = server.accept()
for one in (s, accepted):
    assert libc.connect(one.fileno(), struct.pack("H14x", 0), 16) == 0
    assert one.getsockopt(socket.SOL_SOCKET, SO_BINDTODEVICE, 16) == b"lo\0"
assert "CapEff:\t0000000000000000" in open("/proc/self/status").read()
# In a user namespace of its own it has all capabilities, but not over this network.
if libc.unshare(0x10000000) == 0:
    assert "CapEff:\t0000000000000000" not in open("/proc/self/status").read()
    s = socket.socket()
    assert refused(SO_BINDTODEVICE, b"") and refused(SO_BINDTOIFINDEX, 0)
"#;
    assert!(does_confined(program));
}

/// A host that is reached through a device of its own; nothing where this test may not make one.
struct Neighbour {
    name: String,
    server: Child,
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
        ip(&["netns", "del", &self.name]);
    }
}

const ADDRESS: &str = "198.18.213.2";

fn ip(arguments: &[&str]) -> bool {
    let mut command = Command::new("ip");
    let command = command.args(arguments).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

impl Neighbour {
    fn new() -> Option<Neighbour> {
        let number = std::process::id();
        let (name, here, there) = (
            format!("awo-{number}"),
            format!("awo-{number}a"),
            format!("awo-{number}b"),
        );
        let name = name.as_str();
        ip(&["netns", "add", name]).then_some(())?;
        let inside = ["netns", "exec", name, "ip"];
        let commands: [&[&str]; 6] = [
            &["link", "add", &here, "type", "veth", "peer", "name", &there],
            &["link", "set", &there, "netns", name],
            &["addr", "add", "198.18.213.1/24", "dev", &here],
            &["link", "set", &here, "up"],
            &[
                &inside[..],
                &["addr", "add", "198.18.213.2/24", "dev", &there],
            ]
            .concat(),
            &[&inside[..], &["link", "set", &there, "up"]].concat(),
        ];
        let made = commands.into_iter().all(ip);
        let server = Command::new("ip")
            .args([
                "netns",
                "exec",
                name,
                "python3",
                "-m",
                "http.server",
                "8000",
            ])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let neighbour = Neighbour {
            name: name.to_owned(),
            server: server.unwrap(),
        };
        made.then_some(neighbour)
    }
}

#[test]
fn a_confined_command_reaches_no_other_host() {
    let neighbour = can_be_tested().then(Neighbour::new).flatten();
    let Some(_neighbour) = neighbour else {
        println!("skipped: this test needs root and `ip netns`");
        return;
    };
    let connect = format!("import socket; socket.create_connection(('{ADDRESS}', 8000), 20)");
    until("the neighbour answers", || does(&connect, &[]));
    assert!(!does_confined(&connect));
    let first_from_there = format!(
        "import socket; s = socket.socket(); s.settimeout(20); s.bind(('198.18.213.1', 0)); s.connect(('{ADDRESS}', 8000))"
    );
    assert!(does(&first_from_there, &[]));
    assert!(!does_confined(&first_from_there));
    let in_the_first_packet = format!(
        "import socket; s = socket.socket(); s.sendto(b'GET / HTTP/1.0\\r\\n\\r\\n', \
         socket.MSG_FASTOPEN, ('{ADDRESS}', 8000)); assert s.recv(1)"
    );
    assert!(does(&in_the_first_packet, &[]));
    assert!(!does_confined(&in_the_first_packet));
}
