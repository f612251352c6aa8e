use super::*;
use crate::http::open::Bare;
use crate::http::transport::Transport;
use proofport_core::evidence::{Hop, HttpVersion, PeerIdentity};
use std::net::Ipv4Addr;
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// Longer than any test waits, so that what is closed earlier was closed for its own sake.
const LONG: Duration = Duration::from_secs(600);

const SHORT: Duration = Duration::from_millis(20);

fn key(connection: &str) -> Key {
    Key {
        connection: connection.to_owned(),
        origin: Origin::parse("https://api.example.com").unwrap(),
        proxy: None,
        trust: Digest::of_bytes(b""),
        identity: None,
        http2: false,
    }
}

async fn slot(pool: &Arc<Pool>, connection: &str, idle: Duration) -> Slot {
    pool.slot(key(connection), PoolLimits { per_origin: 1, idle }, PATIENCE).await.unwrap()
}

/// An open connection, and its far end.
async fn open() -> (Open, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (peer, _) = listener.accept().await.unwrap();
    let bare = Bare {
        transport: Transport::Plain(stream),
        peer: PeerIdentity { name: "127.0.0.1".to_owned(), certificate: None },
        hop: Hop::Direct,
        version: HttpVersion::Http11,
    };
    (Open::new(bare).await.unwrap(), peer)
}

/// Keeps a connection for so long; its far end.
async fn keep(pool: &Arc<Pool>, connection: &str, idle: Duration) -> TcpStream {
    let (open, peer) = open().await;
    slot(pool, connection, idle).await.keep(open);
    peer
}

/// Waits until the connection was closed.
async fn closed(peer: &mut TcpStream) {
    assert_eq!(timeout(PATIENCE, peer.read(&mut [0])).await.unwrap().unwrap(), 0);
}

fn places(pool: &Pool) -> usize {
    pool.lock().all.len()
}

#[tokio::test]
async fn what_is_idle_for_too_long_is_closed_on_a_quiet_host() {
    let pool = Arc::new(Pool::default());
    // Once more after the sweeper has ended with the last connection.
    for _ in 0..2 {
        closed(&mut keep(&pool, "a", SHORT).await).await;
        assert_eq!((places(&pool), pool.lock().sweeper.is_none()), (0, true));
    }
}

#[tokio::test]
async fn a_short_limit_waits_for_no_long_one() {
    let pool = Arc::new(Pool::default());
    let _long = keep(&pool, "a", LONG).await;
    // The sweeper has seen what it waits for.
    tokio::task::yield_now().await;
    closed(&mut keep(&pool, "b", SHORT).await).await;
    assert!(slot(&pool, "a", LONG).await.take().is_some(), "the other is still kept");
}

#[test]
fn a_sweeper_that_went_with_its_runtime_is_replaced() {
    let pool = Arc::new(Pool::default());
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let first = runtime();
    let _long = first.block_on(keep(&pool, "a", LONG));
    drop(first);
    runtime().block_on(async { closed(&mut keep(&pool, "b", SHORT).await).await });
}

#[tokio::test]
async fn a_sweeper_keeps_no_pool_and_ends_with_it() {
    let pool = Arc::new(Pool::default());
    let sooner = Arc::clone(&pool.sooner);
    let mut peer = keep(&pool, "a", LONG).await;
    tokio::task::yield_now().await;
    drop(pool);
    closed(&mut peer).await;
    let ended = async {
        while Arc::strong_count(&sooner) > 1 {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, ended).await.unwrap();
}

#[tokio::test]
async fn places_that_nobody_uses_go() {
    let pool = Arc::new(Pool::default());
    let first = slot(&pool, "a", LONG).await;
    let limits = PoolLimits { per_origin: 1, idle: LONG };
    let waits = pool.slot(key("a"), limits, PATIENCE);
    let (second, ()) = tokio::join!(waits, async {
        tokio::task::yield_now().await;
        drop(first);
    });
    assert_eq!(places(&pool), 1, "one has a slot");
    drop(second);
    assert_eq!(places(&pool), 0);
    let (open, _peer) = open().await;
    slot(&pool, "b", Duration::ZERO).await.keep(open);
    assert_eq!(places(&pool), 0, "nothing is kept for no time");
}
