//! Declares a failure output in which it could say anything.

use proofport_hostile_guests::{Hostile, Manifest, manifest};

struct This;

impl Hostile for This {
    fn describe() -> Manifest {
        let mut manifest = manifest();
        let schema =
            r#"{"type":"object","properties":{"why":{"type":"string"}},"additionalProperties":false}"#;
        manifest.operations[0].failure_schema = Some(schema.into());
        manifest
    }
}

proofport_hostile_guests::hostile!(This);
