//! What a guest is told.

use crate::world::proofport::connector::types as wit;
use proofport_core::call::{Call, DispatchFacts};
use proofport_core::contract::Role;
use proofport_core::exchange::{Exchange, Header, Request, Response, SshCommand, SshExit, StoredContent};

pub(crate) fn call(call: &Call) -> wit::Call {
    wit::Call {
        operation: call.operation.as_str().to_owned(),
        input: call.input.clone(),
        config: call.config.clone(),
        reference: call.reference.as_str().to_owned(),
        idempotency_key: call.idempotency_key.as_ref().map(|key| key.as_str().to_owned()),
        accepted_at: call.accepted_at.0,
    }
}

pub(crate) fn facts(facts: &DispatchFacts) -> wit::Evidence {
    wit::Evidence {
        first_dispatched_at: facts.first_dispatched_at.0,
        last_dispatched_at: facts.last_dispatched_at.0,
        now: facts.now.0,
        attempts: facts.attempts,
        request: request(&facts.request),
    }
}

pub(crate) fn history(history: &[Exchange]) -> Vec<wit::Exchange> {
    history
        .iter()
        .map(|exchange| wit::Exchange {
            role: match exchange.role {
                Role::Query => wit::Role::Query,
                Role::Effect => wit::Role::Effect,
            },
            request: request(&exchange.request),
            response: response(&exchange.response),
        })
        .collect()
}

fn request(request: &Request) -> wit::Request {
    match request {
        Request::Http(http) => wit::Request::Http(wit::HttpRequest {
            origin: Some(http.origin.to_string()),
            method: http.method.clone(),
            path: http.path.as_str().to_owned(),
            headers: headers(&http.headers),
            body: http.body.clone(),
            credential: http.credential.as_ref().map(|slot| slot.as_str().to_owned()),
        }),
        Request::Ssh(ssh) => wit::Request::Ssh(wit::SshRequest {
            host: ssh.host.clone(),
            command: match &ssh.command {
                SshCommand::Argv(argv) => wit::SshCommand::Argv(argv.clone()),
                SshCommand::Raw(raw) => wit::SshCommand::Raw(raw.clone()),
            },
            environment: ssh.environment.clone(),
            stdin: ssh.stdin.clone(),
            credential: ssh.credential.as_ref().map(|slot| slot.as_str().to_owned()),
        }),
    }
}

fn response(response: &Response) -> wit::Response {
    match response {
        Response::Http(http) => wit::Response::Http(wit::HttpResponse {
            status: http.status,
            headers: headers(&http.headers),
            body: http.body.clone(),
            stored: http.stored.as_ref().map(stored),
        }),
        Response::Ssh(ssh) => wit::Response::Ssh(wit::SshResponse {
            exit: match &ssh.exit {
                SshExit::Status(status) => wit::SshExit::Status(*status),
                SshExit::Signal(name) => wit::SshExit::Signal(name.clone()),
                SshExit::Marker => wit::SshExit::Marker,
            },
            stdout: ssh.stdout.clone(),
            stderr: ssh.stderr.clone(),
            stored: ssh.stored.as_ref().map(stored),
        }),
    }
}

fn stored(stored: &StoredContent) -> wit::StoredContent {
    wit::StoredContent { bytes: stored.bytes, digest: stored.digest.hex() }
}

fn headers(headers: &[Header]) -> Vec<wit::Header> {
    headers
        .iter()
        .map(|header| wit::Header { name: header.name.clone(), value: header.value.clone() })
        .collect()
}
