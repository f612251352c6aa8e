//! Made for a version of the world that does not exist yet.

wit_bindgen::generate!({ path: "wit-0.9", world: "connector-world" });

struct This;

impl exports::proofport::connector::connector::Guest for This {
    fn describe(config: String) -> String {
        config
    }
}

export!(This);
