//! The same peer in HTTP/2 (RFC 9113): a script says which frames it sends, right or wrong.
//!
//! While it reads, it acknowledges SETTINGS and PING; everything else is the script's. It gives no
//! flow-control credit by itself and asks for none: a request with more than 65,535 bytes of content
//! needs [`Act::WindowUpdate`] or settings, and what a script sends is sent.

mod fields;
mod frame;
mod request;
mod run;
mod script;

pub use frame::{Frame, Kind, code, setting};
pub use request::Request;
pub use script::{Act, Script, Scripts};

pub(super) use run::run;
