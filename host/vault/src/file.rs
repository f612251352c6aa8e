//! The file's format, version 1: one JSON object with binary fields in base64.

use crate::error::VaultError;
use crate::kdf::KdfParams;
use data_encoding::BASE64;
use proofport_core::digest::Digest;
use serde::{Deserialize, Serialize};
use std::path::Path;

const FORMAT: &str = "proofport.vault";
const VERSION: u32 = 1;
/// How every file that we write begins; it tells a damaged vault from some other file.
const BEGINNING: &[u8] = b"{\n  \"format\": \"proofport.vault\"";

/// Bytes whose text form is base64.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Base64(pub(crate) Vec<u8>);

impl TryFrom<String> for Base64 {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        BASE64.decode(text.as_bytes()).map(Self).map_err(|_| "not base64")
    }
}

impl From<Base64> for String {
    fn from(bytes: Base64) -> Self {
        BASE64.encode(&bytes.0)
    }
}

/// The operator's durable mark. Setting it needs no key; clearing it does.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Latch {
    /// Every use is refused.
    Set,
    /// Uses are allowed: a proof made under the latch key over these very contents.
    Clear(Base64),
}

/// A vault as it lies on disk.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct VaultFile {
    pub(crate) kdf: KdfParams,
    pub(crate) salt: [u8; 16],
    /// Tells a wrong passphrase from a damaged file.
    pub(crate) check: [u8; 32],
    pub(crate) data_key: Vec<u8>,
    pub(crate) recipient: String,
    pub(crate) contents: Vec<u8>,
    pub(crate) latch: Latch,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Form {
    format: String,
    version: u32,
    /// Argon2id.
    kdf: KdfParams,
    salt: Base64,
    check: Base64,
    data_key: Base64,
    seal_recipient: String,
    contents: Base64,
    latch: Latch,
    /// Finds accidental damage before a passphrase is asked for; deliberate changes are found by what
    /// is authenticated under keys.
    digest: Digest,
}

#[derive(Deserialize)]
struct Beginning {
    format: String,
    version: u32,
}

impl VaultFile {
    /// The associated data of the contents: whatever stands outside of them, but the latch.
    pub(crate) fn header(&self) -> Digest {
        let KdfParams { memory_kib, passes, lanes } = self.kdf;
        let parts: [&[u8]; 7] = [
            &memory_kib.to_be_bytes(),
            &passes.to_be_bytes(),
            &lanes.to_be_bytes(),
            &self.salt,
            &self.check,
            &self.data_key,
            self.recipient.as_bytes(),
        ];
        Digest::of_parts("proofport.vault.header/1", &parts)
    }

    /// What a cleared latch is bound to.
    pub(crate) fn latch_place(&self) -> Digest {
        Digest::of_parts("proofport.vault.latch/1", &[self.header().as_bytes(), &self.contents])
    }

    fn digest(&self) -> Digest {
        let latch: &[u8] = match &self.latch {
            Latch::Set => b"",
            Latch::Clear(proof) => &proof.0,
        };
        Digest::of_parts("proofport.vault.file/1", &[self.header().as_bytes(), &self.contents, latch])
    }

    pub(crate) fn encode(&self) -> Result<Vec<u8>, VaultError> {
        let form = Form {
            format: FORMAT.to_owned(),
            version: VERSION,
            kdf: self.kdf,
            salt: Base64(self.salt.to_vec()),
            check: Base64(self.check.to_vec()),
            data_key: Base64(self.data_key.clone()),
            seal_recipient: self.recipient.clone(),
            contents: Base64(self.contents.clone()),
            latch: self.latch.clone(),
            digest: self.digest(),
        };
        // Fails only for maps whose keys are no strings, and there is none.
        serde_json::to_vec_pretty(&form).map_err(|_| VaultError::Full)
    }

    /// Reads a file's bytes; `path` is for the errors.
    pub(crate) fn decode(bytes: &[u8], path: &Path) -> Result<Self, VaultError> {
        let corrupt = |what| VaultError::Corrupt { path: path.to_owned(), what };
        if BEGINNING.starts_with(bytes) {
            return Err(VaultError::Truncated { path: path.to_owned() });
        }
        let explain = |error: &serde_json::Error| match (bytes.starts_with(BEGINNING), error.is_eof()) {
            (true, true) => VaultError::Truncated { path: path.to_owned() },
            (true, false) => corrupt("its text"),
            (false, _) => VaultError::NotAVault { path: path.to_owned() },
        };
        let beginning: Beginning = serde_json::from_slice(bytes).map_err(|error| explain(&error))?;
        if beginning.format != FORMAT {
            return Err(VaultError::NotAVault { path: path.to_owned() });
        }
        if beginning.version != VERSION {
            return Err(VaultError::UnsupportedVersion { path: path.to_owned(), found: beginning.version });
        }
        let form: Form = serde_json::from_slice(bytes).map_err(|_| corrupt("its fields"))?;
        let file = Self {
            kdf: form.kdf,
            salt: form.salt.0.try_into().map_err(|_| corrupt("its salt"))?,
            check: form.check.0.try_into().map_err(|_| corrupt("its check value"))?,
            data_key: form.data_key.0,
            recipient: form.seal_recipient,
            contents: form.contents.0,
            latch: form.latch,
        };
        if file.digest() != form.digest {
            return Err(corrupt("its digest"));
        }
        file.kdf.check()?;
        Ok(file)
    }
}
