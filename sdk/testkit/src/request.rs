//! What a connector sends, and the answer to it.

use crate::Cases;
use crate::format::Expected;
use proofport_sdk::types::Send;
use proofport_sdk::{
    Exchange, Header, HttpRequest, HttpResponse, QueryTemplate, Request, Response, Role, StoredContent,
};
use serde_json::Value;
use std::collections::BTreeMap;

pub(crate) fn check(cases: &Cases, expected: &Expected, send: &Send, templates: &[QueryTemplate]) {
    let request = http(send);
    let line = format!("{} {}", request.method, request.path);
    let (role, want) = match (&expected.query, &expected.effect) {
        (Some(want), None) => (Role::Query, want),
        (None, Some(want)) => (Role::Effect, want),
        (_, _) => panic!("an exchange is either a query or an effect"),
    };
    assert_eq!((send.role, &line), (role, want));
    assert!(role == Role::Effect || is_query(request, templates), "{line} is no query");
    let content_type = check_body(expected, request, &line);
    let mut want = cases.headers.clone();
    want.extend(content_type.map(|kind| ("content-type".to_owned(), kind.to_owned())));
    want.extend(expected.sends.clone());
    let have: BTreeMap<_, _> =
        request.headers.iter().map(|header| (header.name.clone(), header.value.clone())).collect();
    assert_eq!(have.len(), request.headers.len(), "{line}: a header is there twice");
    assert_eq!(have, want, "{line}");
    assert_eq!(request.credential, cases.credential, "{line}");
    assert_eq!(request.origin, None, "{line}");
    assert!(!send.summary.is_empty(), "{line}: nothing is said to the person who approves it");
}

/// Compares the body, and says which content type goes with it unless the case says so itself.
fn check_body(expected: &Expected, request: &HttpRequest, line: &str) -> Option<&'static str> {
    let body = request.body.as_deref().map(|body| match std::str::from_utf8(body) {
        Ok(text) => text,
        Err(error) => panic!("{line}: the body: {error}"),
    });
    match (&expected.form, &expected.json, &expected.text) {
        (None, None, None) => {
            assert_eq!(body, None, "{line}");
            None
        }
        (Some(form), None, None) => {
            assert_eq!(body, Some(form.as_str()), "{line}");
            Some("application/x-www-form-urlencoded")
        }
        (None, Some(json), None) => {
            let have = body.map(serde_json::from_str::<Value>);
            assert_eq!(have.and_then(Result::ok).as_ref(), Some(json), "{line}");
            Some("application/json")
        }
        (None, None, Some(text)) => {
            assert_eq!(body, Some(text.as_str()), "{line}");
            None
        }
        (_, _, _) => panic!("a body is a form, or JSON, or a text"),
    }
}

/// Whether the host lets this pass as a query.
fn is_query(request: &HttpRequest, templates: &[QueryTemplate]) -> bool {
    let plain = matches!(request.method.as_str(), "GET" | "HEAD") && request.body.is_none();
    let path = request.path.split('?').next().unwrap_or_default();
    let matches = |template: &QueryTemplate| match template {
        QueryTemplate::Http(template) => {
            let (want, have): (Vec<_>, Vec<_>) =
                (template.path.split('/').collect(), path.split('/').collect());
            template.method == request.method
                && want.len() == have.len()
                && want
                    .iter()
                    .zip(&have)
                    .all(|(want, have)| want == have || (*want == "{}" && !have.is_empty()))
        }
        QueryTemplate::Ssh(_) => false,
    };
    plain || templates.iter().any(matches)
}

pub(crate) fn answered(expected: &Expected, send: Send) -> Exchange {
    let body = match &expected.answer {
        None => Vec::new(),
        Some(Value::String(text)) => text.clone().into_bytes(),
        Some(json) => json.to_string().into_bytes(),
    };
    let header = |(name, value): (&String, &String)| Header { name: name.clone(), value: value.clone() };
    let stored = expected
        .stored
        .as_ref()
        .map(|stored| StoredContent { bytes: stored.bytes, digest: stored.digest.clone() });
    let headers = expected.headers.iter().map(header).collect();
    let response = Response::Http(HttpResponse { status: expected.status, headers, body, stored });
    Exchange { role: send.role, request: send.request, response }
}

fn http(send: &Send) -> &HttpRequest {
    match &send.request {
        Request::Http(request) => request,
        Request::Ssh(_) => panic!("not HTTP: {}", send.summary),
    }
}
