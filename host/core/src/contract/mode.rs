use crate::closed::closed_enum;

closed_enum! {
    /// How the host attaches a credential.
    pub enum InjectionMode {
        /// `Authorization: Bearer` (RFC 6750).
        HttpBearer = "http_bearer",
        /// `Authorization: Basic` (RFC 7617).
        HttpBasic = "http_basic",
        /// A header that the connection names.
        HttpHeader = "http_header",
        /// A query parameter that the connection names.
        HttpQuery = "http_query",
        /// AWS Signature Version 4.
        AwsSigv4 = "aws_sigv4",
        /// A TLS client certificate.
        TlsClientCertificate = "tls_client_certificate",
        /// An SSH private key, with or without a user certificate.
        SshKey = "ssh_key",
        /// An SSH password (RFC 4252).
        SshPassword = "ssh_password",
        /// SSH keyboard-interactive (RFC 4256).
        SshKeyboardInteractive = "ssh_keyboard_interactive",
    }
}
