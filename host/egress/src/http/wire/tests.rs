use super::*;
use std::task::Waker;

/// Takes whatever it is given, and is flushed when it is told to be.
struct Buffering {
    flushes: bool,
}

impl AsyncWrite for Buffering {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(buf.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.flushes { Poll::Ready(Ok(())) } else { Poll::Pending }
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Writes these bytes and asks for a flush, which the stream grants or not.
fn check(bytes: &[u8], flushes: bool, unflushed: bool) {
    let wire = Wire::new(true, HttpVersion::Http11);
    let mut stream = Counted::new(Buffering { flushes }, wire.clone());
    let mut cx = Context::from_waker(Waker::noop());
    wire.begin(0, Arc::new(()));
    assert!(Pin::new(&mut stream).poll_write(&mut cx, bytes).is_ready());
    assert_eq!(wire.seen().unflushed, !bytes.is_empty(), "{bytes:?}");
    assert_eq!(Pin::new(&mut stream).poll_flush(&mut cx).is_ready(), flushes);
    assert_eq!(wire.end().unflushed, unflushed, "{bytes:?}");
}

#[test]
fn what_is_held_back_is_known() {
    check(b"GET / HTTP/1.1\r\n\r\n", true, false);
    check(b"GET / HTTP/1.1\r\n\r\n", false, true);
    check(b"", false, false);
}
