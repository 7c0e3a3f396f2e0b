//! A name server with a test's answers, which are not cached.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};

use hickory_resolver::proto::op::{Message, OpCode, ResponseCode};
use hickory_resolver::proto::rr::rdata::CNAME;
use hickory_resolver::proto::rr::{Name, RData, Record, RecordType};
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

/// What is answered to one question.
#[derive(Debug, Clone)]
pub enum Reply {
    /// Those of them that are of the type that was asked for.
    Addresses(Vec<IpAddr>),
    /// Another name, and its addresses with it.
    Alias(&'static str, Vec<IpAddr>),
    /// Another name, to be asked for.
    Elsewhere(&'static str),
    NoSuchName,
    Broken,
    Silence,
}

type Zone = dyn Fn(&str, usize) -> Reply + Send + Sync;

pub struct NameServer {
    pub address: SocketAddr,
    task: JoinHandle<()>,
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl NameServer {
    /// The zone says what the answer is to a name, without its last dot, when it is asked for the
    /// nth time, from 0; addresses of both families count apart.
    pub async fn start(zone: impl Fn(&str, usize) -> Reply + Send + Sync + 'static) -> NameServer {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let address = socket.local_addr().unwrap();
        let task = tokio::spawn(serve(socket, Arc::new(zone)));
        NameServer { address, task }
    }
}

async fn serve(socket: UdpSocket, zone: Arc<Zone>) {
    let asked: Mutex<HashMap<(String, RecordType), usize>> = Mutex::default();
    let mut buffer = [0; 4096];
    while let Ok((length, from)) = socket.recv_from(&mut buffer).await {
        let question = Message::from_vec(&buffer[..length]).unwrap();
        let query = &question.queries[0];
        let name = query.name().to_ascii().to_lowercase();
        let name = name.trim_end_matches('.').to_owned();
        let nth = {
            let mut asked = asked.lock().unwrap();
            let count = asked.entry((name.clone(), query.query_type())).or_default();
            *count += 1;
            *count - 1
        };
        if let Some(answer) = answer(&question, zone(&name, nth)) {
            socket.send_to(&answer, from).await.unwrap();
        }
    }
}

fn answer(question: &Message, reply: Reply) -> Option<Vec<u8>> {
    let query = &question.queries[0];
    let mut answer = Message::response(question.metadata.id, OpCode::Query);
    answer.metadata.recursion_desired = true;
    answer.metadata.recursion_available = true;
    answer.add_query(query.clone());
    let (kind, name) = (query.query_type(), query.name());
    match reply {
        Reply::Addresses(addresses) => {
            answer.add_answers(records(name, &addresses, kind));
        }
        Reply::Alias(alias, addresses) => {
            let alias = Name::from_ascii(alias).unwrap();
            answer.add_answer(cname(name, &alias));
            answer.add_answers(records(&alias, &addresses, kind));
        }
        Reply::Elsewhere(alias) => {
            answer.add_answer(cname(name, &Name::from_ascii(alias).unwrap()));
        }
        Reply::NoSuchName => answer.metadata.response_code = ResponseCode::NXDomain,
        Reply::Broken => answer.metadata.response_code = ResponseCode::ServFail,
        Reply::Silence => return None,
    }
    Some(answer.to_vec().unwrap())
}

fn cname(name: &Name, alias: &Name) -> Record {
    Record::from_rdata(name.clone(), 0, RData::CNAME(CNAME(alias.clone())))
}

fn records(name: &Name, addresses: &[IpAddr], kind: RecordType) -> Vec<Record> {
    let data = addresses.iter().map(|address| RData::from(*address));
    let data = data.filter(|data| data.record_type() == kind);
    data.map(|data| Record::from_rdata(name.clone(), 0, data))
        .collect()
}
