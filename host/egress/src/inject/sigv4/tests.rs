use super::*;
use crate::inject::{Credential, Injection};
use data_encoding::HEXLOWER;
use http::header::HOST;

/// A published example: AWS's test suite for the signature, or its manual of S3.
struct Example {
    key: (&'static str, &'static str),
    token: Option<&'static str>,
    service: &'static str,
    seconds: u64,
    host: &'static str,
}

/// The test suite: one key, 2015-08-30T12:36:00Z.
const SUITE: Example = Example {
    key: ("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
    token: None,
    service: "service",
    seconds: 1_440_938_160,
    host: "example.amazonaws.com",
};

/// "Signature Calculations for the Authorization Header", 2013-05-24T00:00:00Z.
const S3: Example = Example {
    key: ("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
    token: None,
    service: "s3",
    seconds: 1_369_353_600,
    host: "examplebucket.s3.amazonaws.com",
};

fn secret(text: &str) -> Secret {
    Secret::new(text.as_bytes().to_vec())
}

fn sign(example: &Example, method: &Method, target: &str, headers: &[(&str, &str)], body: &[u8]) -> Signed {
    let (id, key) = (example.key.0, secret(example.key.1));
    let token = example.token.map(secret);
    let signer = Signer::new(id, &key, token.as_ref(), "us-east-1", example.service).unwrap();
    let mut map = HeaderMap::new();
    map.insert(HOST, HeaderValue::from_static(example.host));
    for (name, value) in headers {
        map.append(
            HeaderName::from_bytes(name.as_bytes()).unwrap(),
            HeaderValue::from_bytes(value.as_bytes()).unwrap(),
        );
    }
    let origin = Origin::parse(&format!("https://{}", example.host)).unwrap();
    let request = Signable { method, origin: &origin, target, headers: &map, body };
    signer.sign(&request, UnixMillis(example.seconds * 1000 + 999)).ok().unwrap()
}

/// The signature, after a look at all that carries it.
fn check(
    example: &Example,
    method: &Method,
    target: &str,
    headers: &[(&str, &str)],
    body: &[u8],
    expected: &str,
) {
    let signed = sign(example, method, target, headers, body);
    let mut authorization = String::new();
    for (name, value) in &signed.headers {
        assert!(value.is_sensitive(), "{name}");
        assert!(!format!("{value:?}").contains(expected));
        if name == "authorization" {
            authorization = value.to_str().unwrap().to_owned();
        }
    }
    let signature = authorization.rsplit_once("Signature=").unwrap().1;
    assert_eq!(signature, expected, "{method} {target} {authorization}");
    // A reflected header is masked, or withheld in another shape; and so are the secrets.
    let secrets = [Some(signature), Some(example.key.1), example.token];
    for text in secrets.into_iter().flatten() {
        let scan = signed.guard.scan(format!("[{text}]").into_bytes());
        assert_eq!((scan.hits, scan.bytes.is_some()), (1, true), "{text}");
        assert!(!signed.guard.is_clean(HEXLOWER.encode(text.as_bytes()).as_bytes()), "{text}");
    }
    assert!(signed.guard.is_clean(example.key.0.as_bytes()));
}

#[test]
fn signatures_are_those_that_aws_published() {
    let get = |target: &str, expected: &str| check(&SUITE, &Method::GET, target, &[], b"", expected);
    get("/", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
    get("/?Param1=value1", "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb");
    get("/?Param2=value2&Param1=value1", "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
    get(
        "/?Param-3=Value3&Param=Value2&%E1%88%B4=Value1",
        "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac",
    );
    get("/example/..", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
    get("//example//", "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84");
    // What is sent encoded is encoded once more.
    check(
        &Example {
            key: ("ANOTREAL", "notrealrnrELgWzOk3IfjzDKtFBhDby"),
            host: "tj9n5r0m12.execute-api.us-east-1.amazonaws.com",
            ..SUITE
        },
        &Method::POST,
        "/test/@connections/JBDvjfGEIAMCERw%3D",
        &[],
        b"",
        "57d157672191bac40bae387e48bbe14b15303c001fdbb01f4abf295dccb09705",
    );
    let post = |headers: &[(&str, &str)], body: &[u8], expected: &str| {
        check(&SUITE, &Method::POST, "/", headers, body, expected);
    };
    post(&[], b"", "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
    post(
        &[("My-Header1", "VALUE1")],
        b"",
        "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d",
    );
    post(
        &[
            ("content-type", "application/x-www-form-urlencoded"),
            ("content-length", "13"),
            ("x-amz-content-sha256", "9095672bbd1f56dfc5b65f3e153adc8731a4a654192329106275f4c7b24d0b6e"),
        ],
        b"Param1=value1",
        "d3875051da38690788ef43de4db0d8f280229d82040bfac253562e56c3f20e0b",
    );
    check(
        &Example { token: Some("6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267"), ..SUITE },
        &Method::GET,
        "/",
        &[],
        b"",
        "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8",
    );
}

#[test]
fn s3_signs_in_its_own_dialect() {
    let get = |target: &str, headers: &[(&str, &str)], expected: &str| {
        check(&S3, &Method::GET, target, headers, b"", expected);
    };
    let ranged = "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41";
    get("/test.txt", &[("range", "bytes=0-9")], ranged);
    // What a proxy may change is not signed.
    let changed = [("range", "bytes=0-9"), ("user-agent", "x/1"), ("accept-encoding", "identity")];
    get("/test.txt", &changed, ranged);
    get("/?lifecycle", &[], "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
    get("/?max-keys=2&prefix=J", &[], "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
    // However the path is spelled, one spelling is signed.
    for target in ["/test$file.text", "/test%24file.text", "/test$%66ile.text"] {
        check(
            &S3,
            &Method::PUT,
            target,
            &[("date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")],
            b"Welcome to Amazon S3.",
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
        );
    }
    let digest = |signed: Signed| {
        let (_, value) = signed.headers.into_iter().find(|(name, _)| name == "x-amz-content-sha256")?;
        Some(value.to_str().unwrap().to_owned())
    };
    assert_eq!(
        digest(sign(&S3, &Method::PUT, "/", &[], b"Welcome to Amazon S3.")).unwrap(),
        "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072"
    );
    assert_eq!(digest(sign(&SUITE, &Method::PUT, "/", &[], b"")), None);
}

#[test]
fn each_time_has_its_own_signature() {
    let value = |seconds| {
        let signed = sign(&Example { seconds, ..SUITE }, &Method::GET, "/", &[], b"");
        signed.headers.into_iter().map(|(_, value)| value).collect::<Vec<_>>()
    };
    assert_eq!(value(1_440_938_160), value(1_440_938_160));
    assert_ne!(value(1_440_938_160), value(1_440_938_161));
    // Past the year 9999 nothing panics.
    value(u64::MAX / 1000 - 1);
}

#[test]
fn what_is_no_text_is_not_signed() {
    let signer = Signer::new("AKIDEXAMPLE", &secret("canary-1"), None, "r", "service").unwrap();
    let origin = Origin::parse("https://a.example").unwrap();
    let headers = HeaderMap::new();
    let check = |target: &str, expected: bool| {
        let request =
            Signable { method: &Method::GET, origin: &origin, target, headers: &headers, body: b"" };
        assert_eq!(signer.sign(&request, UnixMillis(0)).is_ok(), expected, "{target}");
    };
    check("/?a=%C3%A9", true);
    check("/%FF", true);
    check("/?a=%FF", false);
}

#[test]
fn words_that_would_break_the_scope_are_refused() {
    let check = |id: &str, key: &str, token: Option<&str>, region: &str, service: &str, expected| {
        let injection = Injection::SigV4 {
            access_key_id: id.to_owned(),
            secret: secret(key),
            session_token: token.map(secret),
            region: region.to_owned(),
            service: service.to_owned(),
        };
        assert_eq!(Credential::new(&injection).map(|_| ()), expected);
    };
    check("AKID", "canary-1", None, "eu-central-1", "s3", Ok(()));
    check("AKID", "canary-1", Some("canary-2"), "auto", "execute-api", Ok(()));
    for bad in ["", "a b", "a/b", "a,b", "a\n", "é", &"a".repeat(129)] {
        check(bad, "canary-1", None, "r", "s", Err(InvalidInjection::AccessKeyId));
        check("AKID", "canary-1", None, bad, "s", Err(InvalidInjection::Region));
        check("AKID", "canary-1", None, "r", bad, Err(InvalidInjection::Service));
    }
    check("AKID", "canary-", None, "r", "s", Err(InvalidInjection::TooShort));
    check("AKID", "canary-1", Some("canary-"), "r", "s", Err(InvalidInjection::TooShort));
    check("AKID", "canary 1", None, "r", "s", Err(InvalidInjection::Bytes));
    check("AKID", "canary-1", Some("canary-2\n"), "r", "s", Err(InvalidInjection::Bytes));
}
