//! `proofport`: the program. It parses the command line, opens the home, asks the gateway or the
//! broker, and prints what they answer. No decision about an invocation is made here.

mod args;
mod commands;
mod demo;
mod exit;
mod harden;
mod logs;
mod notify;
mod operator;
mod output;
mod passphrase;
mod render;
mod secret_input;
mod usage;

use args::{Cli, Command, InHome};
use clap::Parser as _;
use commands::App;
use std::process::ExitCode;

/// Threads of the runtime where one command is carried out. It needs no more, and connectors have threads of
/// their own.
const WORKERS: usize = 2;

fn main() -> ExitCode {
    exit::quiet_panics();
    std::panic::catch_unwind(run).unwrap_or_else(|payload| ExitCode::from(exit::after_panic(payload)))
}

fn run() -> ExitCode {
    if let Err(error) = harden::harden() {
        let error = anyhow::Error::from(error).context("the process can't be protected");
        exit::explain(&error, false);
        return ExitCode::from(exit::INTERNAL);
    }
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return ExitCode::from(usage::answer(&error)),
    };
    let json = cli.globals.json;
    match carry_out(cli) {
        Ok(code) => code,
        Err(error) => ExitCode::from(exit::explain(&error, json)),
    }
}

fn carry_out(cli: Cli) -> anyhow::Result<ExitCode> {
    logs::start()?;
    let command = match cli.command {
        // It runs this program in processes of their own and has its own runtime.
        Command::Demo => return demo::run(cli.globals.json),
        Command::InHome(command) => command,
    };
    let app = App::new(cli.globals);
    // A host that serves has many callers at a time.
    let cores = || std::thread::available_parallelism().map_or(WORKERS, |cores| cores.get().max(WORKERS));
    let workers = if matches!(command, InHome::Serve) { cores() } else { WORKERS };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build()?;
    let status = runtime.block_on(commands::run(&app, command));
    // Whatever had to be durable is: a name lookup that still hangs is not waited for.
    runtime.shutdown_background();
    status.map(ExitCode::from)
}
