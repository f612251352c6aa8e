//! The world of `wit/connector.wit`, as wasmtime's generated types.

#![allow(missing_docs, unreachable_pub, unused_qualifications, clippy::pedantic, clippy::all)]

wasmtime::component::bindgen!({
    path: "../../wit",
    world: "connector-world",
});
