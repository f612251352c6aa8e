//! What went wrong helps whoever asked and tells no secret: the program as a process of its own, agents at
//! both of its doors, and failures at every stage. Of each, four things are held: the code and what may be
//! done next; that the secret is nowhere, in any shape; that nothing of the remote's or of this machine's is
//! in the answer; and that the protected record has the id and what somebody needs who looks into it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test says what it expects by panicking"
)]

mod case;
mod doors;
mod host;
mod input;
mod process;
mod proxies;
mod remote;
mod secret;
mod site;
mod ssh;
