use crate::closed::closed_enum;

closed_enum! {
    /// A step of connection setup. Failing in one proves that the effect was not attempted.
    pub enum Stage {
        /// The address was checked against the connection's policy.
        AddressCheck = "address_check",
        /// Waiting for a connection to the origin that is free or may be opened.
        Pool = "pool",
        /// Name resolution.
        Dns = "dns",
        /// TCP connection.
        TcpConnect = "tcp_connect",
        /// Tunnel through a proxy (RFC 9110 section 9.3.6).
        ProxyTunnel = "proxy_tunnel",
        /// TLS handshake.
        TlsHandshake = "tls_handshake",
        /// The peer's certificate was verified for the origin's name.
        IdentityVerified = "identity_verified",
        /// The HTTP connection is ready for a request.
        HttpHandshake = "http_handshake",
        /// SSH transport negotiation (RFC 4253).
        Transport = "transport",
        /// The SSH host key was verified.
        HostVerified = "host_verified",
        /// SSH user authentication (RFC 4252).
        UserAuth = "user_auth",
        /// SSH session channel.
        ChannelOpen = "channel_open",
        /// SSH environment requests.
        Env = "env",
    }
}
