//! All of WASI that a guest can reach, interface by interface. None of it touches the system: a
//! program that was compiled for WASI finds the calls that it was linked with, and behind them an
//! empty environment, a clock that stands still and streams that end at once.
//!
//! Nothing here waits. An epoch can't interrupt a host call, so a host call that slept would hold a
//! guest thread for as long as the guest pleases; here every pollable is ready.

mod cli;
mod clocks;
mod io;
mod random;

use crate::guest::Guest;
use wasmtime::component::{HasSelf, Linker};
use wasmtime_wasi::filesystem::{WasiFilesystem, WasiFilesystemCtxView};
use wasmtime_wasi::p2::bindings::{cli as cli_, clocks as clocks_, filesystem, random as random_, sync};

/// Why a call of WASI ends the guest. The texts are the host's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    /// It asked for the process to end.
    #[error("it ended itself instead of answering")]
    Exit,
    /// It asked for more random bytes at once than the host makes.
    #[error("it asked for too many random bytes at once")]
    RandomBytes,
    /// It waited for nothing.
    #[error("it waited for an empty list of events")]
    NothingToWaitFor,
}

/// Links the inert WASI. Whatever is not named here can't be instantiated.
pub(crate) fn link(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    type This = HasSelf<Guest>;

    io::link_error(linker)?;
    sync::io::poll::add_to_linker::<Guest, This>(linker, |guest| guest)?;
    sync::io::streams::add_to_linker::<Guest, This>(linker, |guest| guest)?;

    clocks_::wall_clock::add_to_linker::<Guest, This>(linker, |guest| guest)?;
    clocks_::monotonic_clock::add_to_linker::<Guest, This>(linker, |guest| guest)?;

    random_::random::add_to_linker::<Guest, This>(linker, |guest| guest)?;
    random_::insecure::add_to_linker::<Guest, This>(linker, |guest| guest)?;
    random_::insecure_seed::add_to_linker::<Guest, This>(linker, |guest| guest)?;

    cli_::environment::add_to_linker::<Guest, This>(linker, |guest| guest)?;
    cli_::exit::add_to_linker::<Guest, This>(linker, |guest| guest)?;
    cli_::stdin::add_to_linker::<Guest, This>(linker, |guest| guest)?;
    cli_::stdout::add_to_linker::<Guest, This>(linker, |guest| guest)?;
    cli_::stderr::add_to_linker::<Guest, This>(linker, |guest| guest)?;
    cli_::terminal_input::add_to_linker::<Guest, This>(linker, |guest| guest)?;
    cli_::terminal_output::add_to_linker::<Guest, This>(linker, |guest| guest)?;
    cli_::terminal_stdin::add_to_linker::<Guest, This>(linker, |guest| guest)?;
    cli_::terminal_stdout::add_to_linker::<Guest, This>(linker, |guest| guest)?;
    cli_::terminal_stderr::add_to_linker::<Guest, This>(linker, |guest| guest)?;

    // A file is reached through a descriptor, a descriptor through an opened folder, and no folder is
    // open: of these only the list of opened folders, which is empty, can be called with success.
    filesystem::preopens::add_to_linker::<Guest, WasiFilesystem>(linker, files)?;
    sync::filesystem::types::add_to_linker::<Guest, WasiFilesystem>(linker, files)
}

fn files(guest: &mut Guest) -> WasiFilesystemCtxView<'_> {
    WasiFilesystemCtxView { ctx: &mut guest.files, table: &mut guest.table }
}
