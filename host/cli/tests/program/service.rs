//! The example connector's payment service, as far as these tests need it: one request a connection,
//! and a fate for each POST that the test decides.

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};

/// What becomes of a POST. The charge is made in every case but the last.
pub(crate) enum Fate {
    /// 201 and the charge.
    Answer,
    /// The connection ends without an answer.
    Lose,
    /// Answered when the test says so.
    Wait(Receiver<()>),
    /// 402.
    Decline,
}

/// The service. Each request that arrives is sent to `seen` before it is answered.
pub(crate) struct Service {
    pub(crate) origin: String,
    pub(crate) seen: Receiver<String>,
    fates: Sender<Fate>,
}

impl Service {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let (fates, next) = channel();
        let (tell, seen) = channel();
        std::thread::spawn(move || {
            let mut charges = Vec::new();
            for stream in listener.incoming() {
                if serve(stream.unwrap(), &mut charges, &next, &tell).is_none() {
                    return;
                }
            }
        });
        Self { origin, seen, fates }
    }

    pub(crate) fn will(&self, fate: Fate) {
        self.fates.send(fate).unwrap();
    }

    /// The requests that arrived since the last question.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.seen.try_iter().collect()
    }
}

/// None once the test is over.
fn serve(
    stream: TcpStream,
    charges: &mut Vec<Value>,
    fates: &Receiver<Fate>,
    seen: &Sender<String>,
) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap() == 0 {
            return Some(());
        }
        if line == "\r\n" {
            break;
        }
        head.push(line.trim_end().to_ascii_lowercase());
    }
    let length =
        head.iter().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    seen.send(head[0].clone()).ok()?;
    let (status, answer) = if head[0].starts_with("post") {
        let asked: Value = serde_json::from_slice(&body).unwrap();
        let mut charge = asked.clone();
        charge["id"] = format!("ch_{}", charges.len() + 1).into();
        charge["status"] = "succeeded".into();
        match fates.recv().ok()? {
            Fate::Decline => ("402 Payment Required", json!({ "error": { "code": "card_declined" } })),
            Fate::Lose => {
                charges.push(charge);
                return Some(());
            }
            Fate::Wait(told) => {
                charges.push(charge.clone());
                told.recv().ok()?;
                ("201 Created", charge)
            }
            Fate::Answer => {
                charges.push(charge.clone());
                ("201 Created", charge)
            }
        }
    } else {
        let found: Vec<&Value> =
            charges.iter().filter(|charge| head[0].contains(charge["reference"].as_str().unwrap())).collect();
        ("200 OK", json!({ "data": found }))
    };
    let answer = answer.to_string();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        answer.len()
    );
    let mut stream = reader.into_inner();
    stream.write_all(head.as_bytes()).ok();
    stream.write_all(answer.as_bytes()).ok();
    Some(())
}
