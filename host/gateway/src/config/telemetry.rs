//! Where traces go.

use super::reader::{Field, Reader, Section};
use std::fmt;
use url::{Host, Url};

/// Where traces go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TelemetryConfig {
    /// The collector that takes them by OTLP over HTTP; none unless set, and then there are none.
    pub otlp: Option<Collector>,
}

/// A collector of traces. It shows as it is named in a request's `Host`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collector {
    host: Host<String>,
    port: u16,
}

impl Collector {
    /// What is connected to.
    #[must_use]
    pub fn address(&self) -> (String, u16) {
        let host = match &self.host {
            Host::Domain(name) => name.clone(),
            Host::Ipv4(address) => address.to_string(),
            Host::Ipv6(address) => address.to_string(),
        };
        (host, self.port)
    }

    fn is_local(&self) -> bool {
        match &self.host {
            Host::Domain(name) => name == "localhost",
            Host::Ipv4(address) => address.is_loopback(),
            Host::Ipv6(address) => address.to_canonical().is_loopback(),
        }
    }
}

impl fmt::Display for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

const KEYS: [&str; 2] = ["otlp", "otlp_anywhere"];

const MEND: &str = "write `otlp = \"http://127.0.0.1:4318\"`; `/v1/traces` is added to it";

pub(super) fn read<'a>(reader: &mut Reader<'a>, section: &Section<'a>) -> TelemetryConfig {
    reader.only(section, &KEYS);
    let anywhere = reader.field(section, "otlp_anywhere").is_some_and(|field| {
        let value = field.value.as_bool();
        if value.is_none() {
            reader.wrong_type(&field, "true or false");
        }
        value.unwrap_or(false)
    });
    let otlp = reader.field(section, "otlp").and_then(|field| collector(reader, &field, anywhere));
    TelemetryConfig { otlp }
}

fn collector<'a>(reader: &mut Reader<'a>, field: &Field<'a>, anywhere: bool) -> Option<Collector> {
    let text = reader.text(field)?;
    let mut refuse = |what: &str, todo: &str| {
        reader.report(field.place, &field.path, what, todo);
        None
    };
    let url = Url::parse(text).ok().filter(Url::has_host);
    let Some(url) = url else { return refuse("is not the URL of a collector", MEND) };
    match url.scheme() {
        "http" => {}
        "https" => {
            let todo = "name a collector of this machine by `http`, and have that one encrypt";
            return refuse("is encrypted, which is not spoken here", todo);
        }
        _ => return refuse("is not the URL of a collector", MEND),
    }
    if !url.username().is_empty() || url.password().is_some() {
        let todo = "leave them out; what a collector elsewhere wants to see, one of this machine adds";
        return refuse("holds credentials, which have no place in this file", todo);
    }
    if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
        return refuse("is more than a host and a port", MEND);
    }
    let (host, port) = (url.host()?.to_owned(), url.port_or_known_default()?);
    let collector = Collector { host, port };
    if !collector.is_local() && !anywhere {
        let todo =
            "name a collector on 127.0.0.1, or set `otlp_anywhere = true` where the network between is yours";
        return refuse("is another machine, and what goes there is not encrypted", todo);
    }
    Some(collector)
}
