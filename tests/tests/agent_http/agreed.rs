//! The OpenAPI document: that it is the published one, and that the running host does what it says.

use crate::served::{Served, home, settings};
use crate::wire::Answer;
use proofport_gateway::serve::document;
use proofport_tests::peer::Script;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::LazyLock;

static DOCUMENT: LazyLock<Value> = LazyLock::new(document);

const METHODS: [&str; 6] = ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"];

/// The path of the document that a target is an instance of.
fn path_of(target: &str) -> Option<(&'static str, &'static Value)> {
    let path: Vec<&str> = target.split('?').next().unwrap().split('/').collect();
    let paths = DOCUMENT["paths"].as_object().unwrap();
    let fits = |template: &str| {
        let template: Vec<&str> = template.split('/').collect();
        let same = |(part, one): (&&str, &&str)| part == one || part.starts_with('{');
        template.len() == path.len() && template.iter().zip(&path).all(same)
    };
    paths.iter().find(|(template, _)| fits(template)).map(|(template, item)| (template.as_str(), item))
}

/// That the document has this answer: its status, its type, its body.
#[track_caller]
pub(crate) fn agrees(method: &str, target: &str, answer: &Answer) {
    let what = || format!("{method} {target}: {answer:?}");
    assert!(answer.is_whole(), "{}", what());
    assert_eq!(answer.field("cache-control"), Some("no-store"), "{}", what());
    let problem = answer.status >= 400 || answer.status == 202;
    let Some(operation) = path_of(target).map(|(_, item)| &item[method.to_ascii_lowercase()]) else {
        assert_eq!(answer.status, 404, "{}", what());
        return is_problem(answer);
    };
    if operation.is_null() {
        assert_eq!(answer.status, 405, "{}", what());
        assert!(answer.field("allow").is_some(), "{}", what());
        return is_problem(answer);
    }
    let response = &operation["responses"][answer.status.to_string()];
    assert!(response.is_object(), "not in the document: {}", what());
    let kind = answer.field("content-type").map(|kind| kind.split(';').next().unwrap());
    let Some(content) = response["content"].as_object() else {
        assert!(answer.body.is_empty() && kind.is_none(), "{}", what());
        return;
    };
    let schema = &content.get(kind.unwrap()).unwrap_or_else(|| panic!("another type: {}", what()))["schema"];
    if kind.unwrap().ends_with("json") {
        fits(schema, &answer.json());
    }
    if problem && method != "GET" || kind == Some("application/problem+json") {
        is_problem(answer);
    }
}

/// That an answer is a problem whose members say the same as the envelope's and the head.
#[track_caller]
fn is_problem(answer: &Answer) {
    assert_eq!(answer.field("content-type"), Some("application/problem+json"), "{answer:?}");
    let body = answer.json();
    fits(&json!({ "$ref": "#/components/schemas/Problem" }), &body);
    assert_eq!(body["status"], answer.status);
    assert_eq!(body["detail"], body["message"]);
    assert_eq!(body["type"], format!("/codes/{}", body["code"].as_str().unwrap()));
    let id = body["request_id"].as_str();
    assert_eq!(
        body["instance"].as_str().map(str::to_owned),
        id.map(|id| format!("urn:proofport:invocation:{id}"))
    );
    let delay = body["retry_after_seconds"].as_u64().filter(|_| body["retryable"] == true);
    assert_eq!(answer.field("retry-after").map(|delay| delay.parse().unwrap()), delay, "{answer:?}");
}

#[track_caller]
fn fits(schema: &Value, value: &Value) {
    let mut schema = schema.clone();
    schema["components"] = DOCUMENT["components"].clone();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let errors: Vec<String> = validator.iter_errors(value).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}\n{value:#}");
}

#[test]
fn the_published_document_is_the_one_that_is_built() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/openapi.json");
    let text = serde_json::to_string_pretty(&*DOCUMENT).unwrap() + "\n";
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    let published = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(published == text, "{} is another: UPDATE_GOLDEN=1 writes it", file.display());
    // Every status that is listed is explained.
    for (path, item) in DOCUMENT["paths"].as_object().unwrap() {
        for operation in item.as_object().unwrap().values().filter(|value| value.is_object()) {
            for (status, response) in operation["responses"].as_object().unwrap() {
                assert!(!response["description"].as_str().unwrap().is_empty(), "{path}: {status}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_host_has_the_routes_of_its_document_and_no_others() {
    let (_peer, rig) = home(Script::answer(crate::OK)).await;
    let served = Served::new(rig, settings()).await;
    assert_eq!(served.get("/openapi.json").await.json(), *DOCUMENT);
    let id = format!("act_{}", "a".repeat(26));
    for (path, item) in DOCUMENT["paths"].as_object().unwrap() {
        let target = path.replace("{id}", &id).replace("{code}", "OUTCOME_UNKNOWN");
        for method in METHODS {
            let answer = served.ask(method, &target, "").await;
            let listed = item.get(method.to_ascii_lowercase()).is_some();
            assert_eq!(answer.status == 405, !listed, "{method} {path}: {answer:?}");
        }
    }
    for missing in ["/", "/v1", "/v1/", "/v1/calls", "/v2/call", "/codes/ECONNRESET", "/mcp", "/metrics"] {
        assert_eq!(served.get(missing).await.status, 404, "{missing}");
    }
    let page = served.get("/codes/OUTCOME_UNKNOWN").await;
    assert!(page.body.starts_with(b"# OUTCOME_UNKNOWN"), "{page:?}");
    let health = served.get("/healthz").await.json();
    assert_eq!(health, json!({ "status": "serving" }));
    served.host.vault().write().unwrap().lock();
    assert_eq!(served.get("/healthz").await.json(), json!({ "status": "locked" }));
    served.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_are_listed_with_what_they_promise() {
    let (_peer, rig) = home(Script::answer(crate::OK)).await;
    let served = Served::new(rig, settings()).await;
    let listed = served.get("/v1/operations").await.json();
    let listed = listed["operations"].as_array().unwrap();
    let keyed = listed.iter().find(|operation| operation["name"] == "c.keyed").unwrap();
    assert_eq!((&keyed["effect"], &keyed["repeat"]), (&json!("write"), &json!("keyed")));
    assert!(keyed["input_schema"].is_object() && keyed["output_schema"].is_object());
    served.host.vault().write().unwrap().lock();
    let locked = served.get("/v1/operations").await;
    assert_eq!((locked.status, &locked.json()["code"]), (503, &json!("VAULT_LOCKED")));
    assert!(!String::from_utf8_lossy(&locked.body).contains("keyed"));
    served.stop().await;
}
