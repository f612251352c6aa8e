//! A real `moto`: somebody else's implementation of a part of AWS's APIs, run as a process.
//!
//! What it does, as tried with 5.2.5, where that differs from AWS or matters to a test:
//!
//! - **Signatures** are not checked; the service is taken from the credential scope in `Authorization`, so
//!   that every request must have one. Any account is 123456789012.
//! - **Connections** are closed after each answer.
//! - **SQS**, by its JSON protocol: a FIFO queue counts a message with a known `MessageDeduplicationId`
//!   once, compares no bodies and gives the repeat another `MessageId`. A batch with an entry whose delay is
//!   too long answers the others in `Successful` and that one in `Failed`, with `SenderFault`.
//! - **S3**, by path style: `If-None-Match: *` and `If-Match` are kept, with 412; `If-Match` on nothing is a
//!   404. An object keeps its `x-amz-meta-` headers, and shows `x-amz-content-sha256` of the request, too.
//! - **`DynamoDB`**: `BatchWriteItem` never hands anything back, and takes a put and a delete of one item,
//!   which AWS refuses. An unknown table or a wrong key is a 400 with a namespaced `__type`.
//! - **EC2**: `ClientToken` is kept and shown, and otherwise ignored: the same launch twice is two
//!   instances, and one with other parameters is a third. It is a peer that breaks a declared contract. Any
//!   image is taken. The filter `client-token`, which it lacks, is added by one line of the program below.

use crate::plain_http::{Message, exchange};
use crate::python::{Program, PythonServer, StartError};
use serde_json::{Value, json};
use std::io;
use std::net::SocketAddr;

/// Runs the server on a free port.
const PROGRAM: Program = Program {
    name: "moto",
    text: r#"
import os, sys
from moto.ec2 import utils
from moto.server import ThreadedMotoServer

utils.filter_dict_attribute_mapping["client-token"] = "client_token"
server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
print("listening on http://%s:%d " % server.get_host_and_port())
sys.stdin.read()
os._exit(0)
"#,
    arguments: &[],
    before_port: "http://127.0.0.1:",
};

/// The account of every caller.
pub const ACCOUNT: &str = "123456789012";

/// The running server; it ends when dropped.
pub struct Moto(PythonServer);

impl Moto {
    /// A server with nothing in it but its own images and networks, on a free port, ready for requests.
    ///
    /// # Errors
    /// See [`StartError`].
    pub fn start() -> Result<Self, StartError> {
        PythonServer::start(&PROGRAM).map(Self)
    }

    /// See [`PythonServer::address`].
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.0.address()
    }

    /// See [`PythonServer::origin`].
    #[must_use]
    pub fn origin(&self) -> String {
        self.0.origin()
    }

    /// See [`PythonServer::stop`].
    ///
    /// # Errors
    /// When it can't be killed.
    pub fn stop(&mut self) -> io::Result<()> {
        self.0.stop()
    }

    /// What the URLs of its queues begin with.
    #[must_use]
    pub fn queues_at(&self) -> String {
        format!("{}/{ACCOUNT}", self.origin())
    }

    /// Asks it directly, past everything that is tested, by a JSON protocol: status and body. `target`
    /// is, say, `AmazonSQS.CreateQueue`; `service` is `sqs` or `dynamodb`.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn ask(&self, service: &str, target: &str, body: &Value) -> io::Result<(u16, Value)> {
        let head = format!("x-amz-target: {target}\r\ncontent-type: application/x-amz-json-1.0\r\n");
        let answer = self.send(service, "POST /", &head, &body.to_string())?;
        Ok((status(&answer)?, serde_json::from_slice(&answer.body).unwrap_or_default()))
    }

    /// The same by path, for `s3` and `ec2`: status and body. `line` is a method, not HEAD, and a path.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn ask_by_path(&self, service: &str, line: &str, body: &str) -> io::Result<(u16, String)> {
        let answer = self.send(service, line, "", body)?;
        Ok((status(&answer)?, String::from_utf8_lossy(&answer.body).into_owned()))
    }

    /// By its own count, how many messages wait in a queue.
    ///
    /// # Errors
    /// When it does not say.
    pub fn messages(&self, queue: &str) -> io::Result<u64> {
        let queue = format!("{}/{queue}", self.queues_at());
        let name = "ApproximateNumberOfMessages";
        let body = json!({ "QueueUrl": queue, "AttributeNames": [name] });
        let (_, answer) = self.ask("sqs", "AmazonSQS.GetQueueAttributes", &body)?;
        let count = answer["Attributes"][name].as_str().and_then(|text| text.parse().ok());
        count.ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// By its own account, how many instances there are.
    ///
    /// # Errors
    /// When it does not answer.
    pub fn instances(&self) -> io::Result<usize> {
        let line = "GET /?Action=DescribeInstances&Version=2016-11-15";
        let (_, answer) = self.ask_by_path("ec2", line, "")?;
        Ok(answer.matches("<instanceId>").count())
    }

    fn send(&self, service: &str, line: &str, head: &str, body: &str) -> io::Result<Message> {
        let request = format!(
            "{line} HTTP/1.1\r\nhost: {}\r\nauthorization: AWS4-HMAC-SHA256 \
             Credential=AKIDEXAMPLE/20260101/us-east-1/{service}/aws4_request, SignedHeaders=host, Signature=00\r\n\
             {head}content-length: {}\r\n\r\n{body}",
            self.address(),
            body.len(),
        );
        exchange(self.address(), request.as_bytes())
    }
}

fn status(answer: &Message) -> io::Result<u16> {
    answer.status().ok_or_else(|| io::ErrorKind::InvalidData.into())
}
