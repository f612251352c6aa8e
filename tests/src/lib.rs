//! What the tests share.

pub mod bench;
pub mod canary;
pub mod evidence;
pub mod guests;
pub mod killpoint;
pub mod localstripe;
pub mod peer;
pub mod plain_http;
pub mod read_then_die;
pub mod rig;
