//! What can't be printed, stored or compared by accident, and what can't carry free text.

use proofport_core::envelope::{FieldPointer, Message};
use proofport_core::id::IdempotencyKey;
use proofport_core::secret::Secret;

/// Fails to compile when the type has the trait: then both candidates fit and the call is ambiguous.
macro_rules! has_not {
    ($type:ty, $($bound:tt)+) => {{
        trait Lacks<Marker> {
            fn lacks() {}
        }
        impl<T: ?Sized> Lacks<()> for T {}
        struct Has;
        impl<T: ?Sized + $($bound)+> Lacks<Has> for T {}
        <$type as Lacks<_>>::lacks();
    }};
}

#[test]
fn a_secret_has_no_way_out_by_accident() {
    has_not!(Secret, std::fmt::Debug);
    has_not!(Secret, std::fmt::Display);
    has_not!(Secret, serde::Serialize);
    has_not!(Secret, serde::de::DeserializeOwned);
    has_not!(Secret, PartialEq);
    has_not!(Secret, Clone);
    has_not!(Secret, std::hash::Hash);
    has_not!(Secret, AsRef<[u8]>);
    has_not!(Secret, std::ops::Deref);
}

/// What is read back holds sentences of the host's own only: see `envelope.rs` beside this.
#[test]
fn an_answer_takes_no_free_text() {
    has_not!(Message, From<String>);
    has_not!(Message, From<&'static str>);
    has_not!(FieldPointer, From<String>);
    has_not!(FieldPointer, From<&'static str>);
    has_not!(proofport_core::envelope::Envelope, Default);
}

/// A key can double as access material, so `Debug` hides it; the journal still stores it.
#[test]
fn an_idempotency_key_is_not_printed() {
    let key = IdempotencyKey::from_random([1; 16]);
    assert!(!format!("{key:?}").contains(&key.as_str()[4..]));
    has_not!(IdempotencyKey, std::fmt::Display);
}

#[test]
fn a_duplicate_owns_its_own_bytes() {
    let secret = Secret::new(b"correct horse".to_vec());
    let duplicate = secret.duplicate();
    drop(secret);
    assert_eq!(duplicate.expose(), b"correct horse");
}
