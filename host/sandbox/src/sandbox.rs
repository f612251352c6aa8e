//! The engine and everything that is made once for all connectors.

use crate::cache::{Cache, TrustedCode};
use crate::connector::Connector;
use crate::engine;
use crate::figures::Figures;
use crate::guest::Guest;
use crate::inert;
use crate::inspect::{ModuleError, inspect, is_allowed};
use crate::limits::Limits;
use crate::threads::GuestThreads;
use crate::ticker::Ticker;
use crate::world::ConnectorWorldPre;
use proofport_core::digest::Digest;
use std::path::Path;
use std::sync::Arc;
use wasmtime::Engine;
use wasmtime::component::{Component, Linker};
use zeroize::Zeroizing;

/// Loads connectors. Dropping it and its connectors ends its threads.
pub struct Sandbox {
    linker: Linker<Guest>,
    cache: Option<Cache>,
    shared: Arc<Shared>,
}

/// What connectors need of their sandbox.
pub(crate) struct Shared {
    pub(crate) engine: Engine,
    pub(crate) limits: Limits,
    pub(crate) threads: GuestThreads,
    pub(crate) ticker: Arc<Ticker>,
    pub(crate) figures: Arc<Figures>,
}

/// The sandbox can't be made.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The runtime refused its settings, or could not reserve address space for instances.
    #[error("the WebAssembly runtime can't start: {0}")]
    Runtime(String),
    /// Threads could not be started.
    #[error("threads for connectors can't be started")]
    Threads(#[source] std::io::Error),
    /// The folder of compiled code can't be used.
    #[error("the folder of compiled code can't be used")]
    Cache(#[source] std::io::Error),
}

/// A module can't be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// It can't be a connector here.
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// It does not compile.
    #[error("the component does not compile: {0}")]
    Compile(String),
    /// What it imports or exports has other types than the world's.
    #[error("the component does not fit the connector world: {0}")]
    Mismatch(String),
}

impl Sandbox {
    /// Makes the engine, reserves slots for instances and starts the guest threads.
    ///
    /// Compiled code is kept in `cache_dir`, if given, under MACs by `cache_mac`.
    ///
    /// # Errors
    /// See [`SandboxError`].
    pub fn new(
        cache_dir: Option<&Path>,
        cache_mac: Zeroizing<[u8; 32]>,
        limits: Limits,
    ) -> Result<Self, SandboxError> {
        let runtime = |error: wasmtime::Error| SandboxError::Runtime(format!("{error:#}"));
        let engine = engine::engine(&limits).map_err(runtime)?;
        let mut linker = Linker::new(&engine);
        inert::link(&mut linker).map_err(runtime)?;
        let cache = cache_dir
            .map(|folder| Cache::open(folder, cache_mac, engine::compatibility(&engine)))
            .transpose()
            .map_err(SandboxError::Cache)?;
        let threads = GuestThreads::start(limits.instances.max(1)).map_err(SandboxError::Threads)?;
        let ticker = Arc::new(Ticker::start(engine.clone()).map_err(SandboxError::Threads)?);
        let figures = Arc::default();
        Ok(Self { linker, cache, shared: Arc::new(Shared { engine, limits, threads, ticker, figures }) })
    }

    /// What it counts.
    #[must_use]
    pub fn figures(&self) -> Arc<Figures> {
        Arc::clone(&self.shared.figures)
    }

    /// Loads a connector: checks the module, compiles it or takes code compiled before, and links
    /// it. Runs nothing of it. Compiling takes up to seconds of processor time, so that this belongs
    /// on a thread that may block.
    ///
    /// # Errors
    /// See [`LoadError`].
    pub fn load(&self, bytes: &[u8]) -> Result<Connector, LoadError> {
        let digest = inspect(bytes)?.digest;
        let component = self.component(&digest, bytes)?;
        // Asked a second time of the runtime's own reading of the module: two parsers that disagree
        // must not let an import through. The linker, which has nothing else, is the third word.
        let ty = component.component_type();
        if let Some((name, _)) = ty.imports(&self.shared.engine).find(|(name, _)| !is_allowed(name)) {
            return Err(ModuleError::ForbiddenImport { name: name.to_owned() }.into());
        }
        let mismatch = |error: wasmtime::Error| LoadError::Mismatch(format!("{error:#}"));
        let linked = self.linker.instantiate_pre(&component).map_err(mismatch)?;
        let pre = ConnectorWorldPre::new(linked).map_err(mismatch)?;
        Ok(Connector::new(digest, pre, Arc::clone(&self.shared)))
    }

    fn component(&self, digest: &Digest, bytes: &[u8]) -> Result<Component, LoadError> {
        if let Some(code) = self.cache.as_ref().and_then(|cache| cache.get(digest)) {
            match self.revive(&code) {
                Ok(component) => {
                    self.shared.figures.count_from_cache();
                    return Ok(component);
                }
                Err(error) => tracing::warn!(%digest, %error, "compiled code does not load; compiling anew"),
            }
        }
        let compile = |error: wasmtime::Error| LoadError::Compile(format!("{error:#}"));
        let component = Component::from_binary(&self.shared.engine, bytes).map_err(compile)?;
        self.shared.figures.count_compiled();
        if let Some(cache) = &self.cache {
            cache.put(digest, &component.serialize().map_err(compile)?);
        }
        Ok(component)
    }

    #[allow(unsafe_code)]
    fn revive(&self, code: &TrustedCode) -> wasmtime::Result<Component> {
        // SAFETY: `deserialize` asks that the bytes be unmodified output of `Component::serialize`
        // of a compatible engine. A `TrustedCode` exists only where the MAC of these very bytes in
        // memory checked under the host's key, over this engine's compatibility digest; `put` alone
        // makes such MACs, of what `serialize` returned. The bytes are not read from the disk again.
        unsafe { Component::deserialize(&self.shared.engine, code.as_bytes()) }
    }
}
