use super::*;
use crate::inject::{Credential, Injection, InvalidInjection};
use data_encoding::BASE64;
use rcgen::{CertificateParams, KeyPair};

/// A certificate and its key, self-signed.
fn pair() -> (String, KeyPair) {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["client.example".to_owned()]).unwrap();
    (certificate.self_signed(&key).unwrap().pem(), key)
}

fn pem(label: &str, der: &[u8]) -> String {
    let lines: Vec<String> =
        BASE64.encode(der).as_bytes().chunks(64).map(|l| String::from_utf8(l.to_vec()).unwrap()).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

fn secret(text: &str) -> Secret {
    Secret::new(text.as_bytes().to_vec())
}

fn check(text: &str, expected: Result<(), InvalidIdentity>) {
    assert_eq!(ClientIdentity::parse(&secret(text)).map(|_| ()), expected);
    let injection = Injection::ClientCertificate(secret(text));
    assert_eq!(injection.check(), expected.map_err(InvalidInjection::Certificate));
    assert_eq!(Credential::new(&injection).is_ok(), expected.is_ok());
}

#[test]
fn one_chain_and_one_key_are_taken() {
    let (certificate, key) = pair();
    let (other, other_key) = pair();
    let pkcs8 = key.serialize_pem();
    // The SEC1 key stands at the end of this PKCS#8 structure (RFC 5958), as an octet string.
    let der = key.serialize_der();
    let at = der.windows(6).position(|w| w[0] == 0x30 && w[2..] == [2, 1, 1, 4]).unwrap();
    let sec1 = pem("EC PRIVATE KEY", &der[at..]);
    check(&format!("{certificate}{pkcs8}"), Ok(()));
    check(&format!("{pkcs8}{certificate}{other}"), Ok(()));
    check(&format!("{certificate}text between\n{sec1}"), Ok(()));
    check(include_str!("rsa.pem"), Ok(()));
    check(&certificate, Err(InvalidIdentity::NoKey));
    check(&pkcs8, Err(InvalidIdentity::NoCertificate));
    check("a passphrase", Err(InvalidIdentity::NoCertificate));
    check(&format!("{certificate}{pkcs8}{sec1}"), Err(InvalidIdentity::SeveralKeys));
    check(&format!("{other}{certificate}{pkcs8}"), Err(InvalidIdentity::Mismatch));
    check(&format!("{certificate}{}", other_key.serialize_pem()), Err(InvalidIdentity::Mismatch));
    let encrypted = pem("ENCRYPTED PRIVATE KEY", b"12345");
    check(&format!("{certificate}{encrypted}"), Err(InvalidIdentity::EncryptedKey));
    let old = pkcs8.replace("KEY-----\n", "KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n");
    check(&format!("{certificate}{old}"), Err(InvalidIdentity::EncryptedKey));
    check(&format!("{certificate}{}", pem("PRIVATE KEY", b"12345")), Err(InvalidIdentity::Key));
    check(&format!("{}{pkcs8}", pem("CERTIFICATE", b"12345")), Err(InvalidIdentity::Certificate));
    check(&format!("{certificate}-----BEGIN PRIVATE KEY-----\n%%%\n"), Err(InvalidIdentity::Pem));
}

#[test]
fn identities_are_told_apart_and_their_keys_recognised() {
    let (certificate, key) = pair();
    let text = format!("{certificate}{}", key.serialize_pem());
    let digest = |text: &str| *ClientIdentity::parse(&secret(text)).ok().unwrap().digest();
    assert_eq!(digest(&text), digest(&format!("{}{certificate}", key.serialize_pem())));
    assert_ne!(digest(&text), digest(include_str!("rsa.pem")));
    for text in [text.as_str(), include_str!("rsa.pem")] {
        let credential = Credential::new(&Injection::ClientCertificate(secret(text))).unwrap();
        assert_eq!(*credential.client_identity().unwrap().digest(), digest(text));
        let guard = credential.guard();
        assert!(!guard.is_clean(text.as_bytes()));
        assert!(guard.is_clean(text.split("-----BEGIN").nth(1).unwrap().as_bytes()), "the certificate");
    }
    let bearer = Credential::new(&Injection::Bearer(secret("canary-1"))).unwrap();
    assert!(bearer.client_identity().is_none());
}
