use super::*;

fn secret(text: &str) -> Secret {
    Secret::new(text.as_bytes().to_vec())
}

fn check(injection: &Injection, expected: Result<&str, InvalidInjection>) {
    let got = Credential::new(injection).map(|credential| match credential.attachment {
        Attachment::Header { name, value } => {
            assert!(value.is_sensitive());
            assert!(!format!("{value:?}").contains("canary"));
            format!("{name}: {}", value.to_str().unwrap())
        }
        Attachment::Query { pair, .. } => pair.to_string(),
        Attachment::SigV4(_) => "a signature".to_owned(),
        Attachment::ClientCertificate(_) => "nothing".to_owned(),
    });
    assert_eq!(got.as_deref(), expected.as_ref().map(|text| &**text));
    assert_eq!(injection.check(), expected.map(|_| ()));
}

fn named(name: &str, value: &str) -> Injection {
    Injection::Header { name: name.to_owned(), secret: secret(value) }
}

fn query(name: &str, value: &str) -> Injection {
    Injection::Query { name: name.to_owned(), secret: secret(value) }
}

fn basic(user: &str, password: &str) -> Injection {
    Injection::Basic { user: user.to_owned(), password: secret(password) }
}

#[test]
fn secrets_are_attached_or_refused_before_anything_is_sent() {
    use InvalidInjection::{Bytes, Name, TooShort, User};
    check(&Injection::Bearer(secret("canary-1")), Ok("authorization: Bearer canary-1"));
    check(&Injection::Bearer(secret("canary-")), Err(TooShort));
    for bad in ["canary-1\n", "canary 12", "canary-é1", "canary\r\nX: y"] {
        check(&Injection::Bearer(secret(bad)), Err(Bytes));
    }
    check(&basic("Aladdin", "open sesame"), Ok("authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="));
    check(&basic("", "canary-é"), Ok("authorization: Basic OmNhbmFyeS3DqQ=="));
    check(&basic("a:b", "canary-1"), Err(User));
    check(&basic("a\n", "canary-1"), Err(User));
    check(&basic("a", "canary-1\n"), Err(Bytes));
    check(&named("X-Api-Key", "canary 1"), Ok("x-api-key: canary 1"));
    check(&named("Authorization", "token canary"), Ok("authorization: token canary"));
    check(&named("X-Api-Key", "canary-1\r"), Err(Bytes));
    check(&named("X-Api-Key", " canary-1"), Err(Bytes));
    check(&named("X-Api-Key", "canary\n1"), Err(Bytes));
    check(&named("x api", "canary-1"), Err(Name));
    check(&named("", "canary-1"), Err(Name));
    check(&named("Host", "canary-1"), Err(Name));
    check(&named("Content-Length", "canary-1"), Err(Name));
    check(&query("key", "canary-1"), Ok("key=canary-1"));
    check(&query("a b", "canary&=\r\n#é"), Ok("a%20b=canary%26%3D%0D%0A%23%C3%A9"));
    check(&query("", "canary-1"), Err(Name));
}

#[test]
fn the_guard_knows_what_was_attached() {
    let guard = Credential::new(&basic("user", "canary-canary")).unwrap().guard();
    for text in ["canary-canary", "dXNlcjpjYW5hcnktY2FuYXJ5"] {
        let scan = guard.scan(format!("[{text}]").into_bytes());
        assert_eq!((scan.hits, scan.bytes.is_some()), (1, true), "{text}");
    }
    assert!(guard.is_clean(b"user"));
}
