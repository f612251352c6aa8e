//! Homes with a connection for each case.

use crate::host::{Home, SERVED};
use crate::secret::{CANARY, PROXY_PASSWORD};
use proofport_core::contract::InjectionMode;
use proofport_core::digest::Digest;
use proofport_tests::guests::{guest, path};
use proofport_tests::rig::{Rig, Stored};

/// How a secret is attached to a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) mode: InjectionMode,
    /// More lines of the credential.
    pub(crate) more: &'static str,
    /// What the remote sees of it.
    pub(crate) on_wire: fn() -> String,
}

/// Everything that a request over HTTP can carry a secret in.
pub(crate) const BEARER: Place =
    Place { mode: InjectionMode::HttpBearer, more: "", on_wire: || format!("Bearer {CANARY}") };
pub(crate) const BASIC: Place = Place {
    mode: InjectionMode::HttpBasic,
    more: "user = \"mailer\"",
    on_wire: || {
        let pair = format!("mailer:{CANARY}");
        format!("Basic {}", data_encoding::BASE64.encode(pair.as_bytes()))
    },
};
pub(crate) const HEADER: Place = Place {
    mode: InjectionMode::HttpHeader,
    more: "header = \"X-aPi-KEY\"",
    on_wire: || format!("x-api-key: {CANARY}"),
};
pub(crate) const QUERY: Place = Place {
    mode: InjectionMode::HttpQuery,
    more: "query = \"aPi_kEy\"",
    on_wire: || "aPi_kEy=cAnary%2B".to_owned(),
};

/// One connection of a home.
pub(crate) struct Connection {
    pub(crate) name: String,
    pub(crate) guest: &'static str,
    pub(crate) slot: &'static str,
    pub(crate) origin: String,
    pub(crate) place: Place,
    /// More lines of its table, such as whose addresses may be dialled.
    pub(crate) more: String,
    /// The sections below it.
    pub(crate) sections: String,
    /// The origin of the proxy before it.
    pub(crate) proxy: Option<String>,
}

impl Connection {
    /// One that goes to this origin on loopback and asks nobody.
    pub(crate) fn new(name: impl Into<String>, guest: &'static str, origin: String, place: Place) -> Self {
        let name = name.into();
        let slot = if guest == CHARGES { "api_key" } else { "key" };
        let sections = format!(
            "[connections.{name}.approvals]\nreads = \"auto\"\nwrites = \"auto\"\n\
             [connections.{name}.failures]\nmost = 1000000\n\
             [connections.{name}.limits]\nsetup_attempts = 1\nconnect_seconds = 1\ndeadline_seconds = 2\n\
             response_bytes = 65536\n"
        );
        let more = "addresses = [\"127.0.0.1\"]".to_owned();
        Self { name, guest, slot, origin, place, more, sections, proxy: None }
    }

    /// The same, whose writes wait for somebody's word.
    pub(crate) fn asks(self) -> Self {
        let sections = self.sections.replace("writes = \"auto\"", "writes = \"each\"");
        Self { sections, ..self }
    }

    /// The same, whose writes wait for it as short as may be.
    pub(crate) fn asks_briefly(self) -> Self {
        let asks = self.asks();
        Self {
            sections: asks.sections.replace("writes = \"each\"", "writes = \"each\"\nseconds = 10"),
            ..asks
        }
    }

    /// The same, through a proxy at this origin that wants a password.
    pub(crate) fn through(self, proxy: &str, resolve: &str) -> Self {
        let name = &self.name;
        let section = format!(
            "[connections.{name}.proxy]\nurl = \"{proxy}\"\nresolve = \"{resolve}\"\nuser = \"mailer\"\n\
             secret = \"p-{name}\"\n"
        );
        Self { sections: self.sections + &section, proxy: Some(proxy.to_owned()), ..self }
    }

    fn toml(&self) -> String {
        let Self { name, guest: module, slot, origin, place, more, sections, proxy: _ } = self;
        let digest = Digest::of_bytes(&guest(module));
        format!(
            "[connections.{name}]\nconnector = \"{digest}\"\norigins = [\"{origin}\"]\n{more}\n{sections}\
             [connections.{name}.credentials.{slot}]\nsecret = \"s-{name}\"\nmode = \"{}\"\n{}\n",
            place.mode, place.more
        )
    }
}

/// The example connector.
pub(crate) const CHARGES: &str = "proofport-example-charges";

/// A home with these connections, each with the secret in a place of its own.
pub(crate) fn home(connections: &[Connection]) -> Home {
    let names: Vec<[String; 2]> = connections
        .iter()
        .map(|connection| ["s", "p"].map(|kind| format!("{kind}-{}", connection.name)))
        .collect();
    let mut secrets: Vec<Stored<'_>> = Vec::new();
    for ([name, of_proxy], of) in names.iter().zip(connections) {
        secrets.push(Stored { name, value: CANARY, destination: &of.origin, mode: of.place.mode });
        let proxy = of.proxy.as_deref();
        secrets.extend(proxy.map(|destination| Stored {
            name: of_proxy,
            value: PROXY_PASSWORD,
            destination,
            mode: InjectionMode::HttpBasic,
        }));
    }
    let made = tokio::runtime::Runtime::new().unwrap().block_on(Rig::declared("courier", &secrets, ""));
    let home = Home::new(made);
    let mut others: Vec<&str> = connections.iter().map(|connection| connection.guest).collect();
    others.sort_unstable();
    others.dedup();
    for other in others.into_iter().filter(|guest| *guest != "courier") {
        let module = path(other).display().to_string();
        let output = home.command(&["connector", "install", "--yes", &module]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let toml: String = connections.iter().map(Connection::toml).collect();
    std::fs::write(home.path().join("proofport.toml"), SERVED.to_owned() + &toml).unwrap();
    home
}
