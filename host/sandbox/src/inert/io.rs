//! Streams that end at once or go to the log, and pollables that are always ready.

use super::Refused;
use crate::guest::Guest;
use wasmtime::component::{Linker, Resource, ResourceTable, ResourceType};
use wasmtime_wasi::async_trait;
use wasmtime_wasi::p2::bindings::sync::io::{poll, streams};
use wasmtime_wasi::p2::{
    DynInputStream, DynOutputStream, DynPollable, IoError, Pollable, StreamError, StreamResult, subscribe,
};

/// What one write may carry, as WASI's own streams do.
const WRITE_ROOM: u64 = 4096;

struct Ready;

#[async_trait]
impl Pollable for Ready {
    async fn ready(&mut self) {}
}

/// A pollable that is ready.
pub(super) fn ready_pollable(table: &mut ResourceTable) -> wasmtime::Result<Resource<DynPollable>> {
    let ready = table.push(Ready)?;
    subscribe(table, ready)
}

/// Links `wasi:io/error`. No stream here makes an error, so that only the type is needed; the method
/// is there because guests are linked with it.
pub(super) fn link_error(linker: &mut Linker<Guest>) -> wasmtime::Result<()> {
    let mut instance = linker.instance("wasi:io/error@0.2.12")?;
    instance.resource("error", ResourceType::host::<IoError>(), |mut store, rep| {
        store.data_mut().table.delete(Resource::<IoError>::new_own(rep))?;
        Ok(())
    })?;
    instance.func_wrap("[method]error.to-debug-string", |_store, (_error,): (Resource<IoError>,)| {
        Ok((String::from("error"),))
    })
}

impl poll::Host for Guest {
    fn poll(&mut self, pollables: Vec<Resource<DynPollable>>) -> wasmtime::Result<Vec<u32>> {
        if pollables.is_empty() {
            return Err(Refused::NothingToWaitFor.into());
        }
        Ok((0..).zip(pollables).map(|(index, _)| index).collect())
    }
}

impl poll::HostPollable for Guest {
    fn ready(&mut self, _pollable: Resource<DynPollable>) -> wasmtime::Result<bool> {
        Ok(true)
    }

    fn block(&mut self, _pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        Ok(())
    }

    fn drop(&mut self, pollable: Resource<DynPollable>) -> wasmtime::Result<()> {
        poll::HostPollable::drop(&mut self.table, pollable)
    }
}

impl streams::Host for Guest {
    fn convert_stream_error(&mut self, error: StreamError) -> wasmtime::Result<streams::StreamError> {
        match error {
            StreamError::Closed => Ok(streams::StreamError::Closed),
            StreamError::LastOperationFailed(error) | StreamError::Trap(error) => Err(error),
        }
    }
}

impl streams::HostInputStream for Guest {
    fn read(&mut self, _stream: Resource<DynInputStream>, _len: u64) -> StreamResult<Vec<u8>> {
        Err(StreamError::Closed)
    }

    fn blocking_read(&mut self, _stream: Resource<DynInputStream>, _len: u64) -> StreamResult<Vec<u8>> {
        Err(StreamError::Closed)
    }

    fn skip(&mut self, _stream: Resource<DynInputStream>, _len: u64) -> StreamResult<u64> {
        Err(StreamError::Closed)
    }

    fn blocking_skip(&mut self, _stream: Resource<DynInputStream>, _len: u64) -> StreamResult<u64> {
        Err(StreamError::Closed)
    }

    fn subscribe(&mut self, _stream: Resource<DynInputStream>) -> wasmtime::Result<Resource<DynPollable>> {
        ready_pollable(&mut self.table)
    }

    fn drop(&mut self, stream: Resource<DynInputStream>) -> wasmtime::Result<()> {
        self.table.delete(stream)?;
        Ok(())
    }
}

impl streams::HostOutputStream for Guest {
    fn check_write(&mut self, _stream: Resource<DynOutputStream>) -> StreamResult<u64> {
        Ok(WRITE_ROOM)
    }

    fn write(&mut self, _stream: Resource<DynOutputStream>, bytes: Vec<u8>) -> StreamResult<()> {
        self.log.write(&bytes);
        Ok(())
    }

    fn blocking_write_and_flush(
        &mut self,
        _stream: Resource<DynOutputStream>,
        bytes: Vec<u8>,
    ) -> StreamResult<()> {
        self.log.write(&bytes);
        Ok(())
    }

    fn flush(&mut self, _stream: Resource<DynOutputStream>) -> StreamResult<()> {
        Ok(())
    }

    fn blocking_flush(&mut self, _stream: Resource<DynOutputStream>) -> StreamResult<()> {
        Ok(())
    }

    fn subscribe(&mut self, _stream: Resource<DynOutputStream>) -> wasmtime::Result<Resource<DynPollable>> {
        ready_pollable(&mut self.table)
    }

    fn write_zeroes(&mut self, _stream: Resource<DynOutputStream>, _len: u64) -> StreamResult<()> {
        Ok(())
    }

    fn blocking_write_zeroes_and_flush(
        &mut self,
        _stream: Resource<DynOutputStream>,
        _len: u64,
    ) -> StreamResult<()> {
        Ok(())
    }

    fn splice(
        &mut self,
        _stream: Resource<DynOutputStream>,
        _from: Resource<DynInputStream>,
        _len: u64,
    ) -> StreamResult<u64> {
        Err(StreamError::Closed)
    }

    fn blocking_splice(
        &mut self,
        _stream: Resource<DynOutputStream>,
        _from: Resource<DynInputStream>,
        _len: u64,
    ) -> StreamResult<u64> {
        Err(StreamError::Closed)
    }

    fn drop(&mut self, stream: Resource<DynOutputStream>) -> wasmtime::Result<()> {
        self.table.delete(stream)?;
        Ok(())
    }
}
