//! Names become addresses by the system's resolver, which blocks a thread for as long as it likes.

use std::io;
use std::net::{IpAddr, ToSocketAddrs as _};
use tokio::sync::Semaphore;

/// How many lookups there may be at once, in this process. A resolver that doesn't answer holds its
/// threads long after whoever asked has gone, and they are of the pool that stores content, too.
static AT_ONCE: Semaphore = Semaphore::const_new(8);

/// The addresses of a name.
///
/// # Errors
/// The resolver's.
pub(crate) async fn addresses(name: &str, port: u16) -> io::Result<Vec<IpAddr>> {
    let name = name.to_owned();
    let lookup = move || Ok((name, port).to_socket_addrs()?.map(|answer| answer.ip()).collect());
    limited(&AT_ONCE, lookup).await
}

/// Does blocking work under a permit that ends with the work itself: whoever waits for it may be gone
/// long before.
async fn limited<T: Send + 'static>(
    permits: &'static Semaphore,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let permit = permits.acquire().await.map_err(io::Error::other)?;
    let work = move || {
        let _permit = permit;
        work()
    };
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::time::Duration;
    use tokio::time::timeout;

    #[tokio::test]
    async fn a_lookup_that_hangs_keeps_its_permit() {
        static PERMITS: Semaphore = Semaphore::const_new(1);
        let (answer, answered) = mpsc::channel::<()>();
        let hangs = limited(&PERMITS, move || answered.recv().map_err(io::Error::other));
        assert!(timeout(Duration::ZERO, hangs).await.is_err());
        assert_eq!(PERMITS.available_permits(), 0, "its thread is still there");
        let next = timeout(Duration::ZERO, limited(&PERMITS, || Ok(2))).await;
        assert!(next.is_err(), "there is room for one");
        answer.send(()).unwrap();
        assert_eq!(limited(&PERMITS, || Ok(3)).await.unwrap(), 3);
    }

    #[tokio::test]
    async fn the_system_knows_this_host() {
        assert!(addresses("localhost", 1).await.unwrap().iter().all(IpAddr::is_loopback));
    }
}
