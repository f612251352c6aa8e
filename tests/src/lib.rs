//! What the tests share.

pub mod guests;
pub mod killpoint;
pub mod peer;
pub mod localstripe;
pub mod plain_http;
pub mod read_then_die;
pub mod rig;
