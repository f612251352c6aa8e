//! The home directory: where everything of one host lies.
//!
//! It belongs to one user and nobody else may look inside; that is checked whenever it is opened,
//! because the files in it are protected by it.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

const VAULT: &str = "vault.json";
const VAULT_LOCK: &str = "vault.json.lock";
const JOURNAL: &str = "journal.redb";
const CONFIG: &str = "proofport.toml";
const CONNECTORS: &str = "connectors";
const CACHE: &str = "cache";
const AUDIT_IDENTITY: &str = "audit-identity.txt";
const OPERATOR_SOCKET: &str = "operator.sock";

/// The socket on which agents reach a host that serves, unless another place is configured.
const AGENT_SOCKET: &str = "agent.sock";

/// The lock beside the journal, and the new file of a rewrite that did not end.
const JOURNAL_LOCK: &str = "journal.redb.lock";
const JOURNAL_NEW: &str = "journal.redb.new";
/// The space that the journal keeps for settlements, and the contents that it stores.
const JOURNAL_RESERVE: &str = "journal.reserve";
const RESULTS: &str = "results";

/// What may lie in a directory that is made a home: leavings of an interrupted `init`, and a
/// configuration or certificates written before it.
const OURS: [&str; 12] = [
    VAULT,
    VAULT_LOCK,
    JOURNAL,
    JOURNAL_LOCK,
    JOURNAL_NEW,
    JOURNAL_RESERVE,
    RESULTS,
    CONFIG,
    CONNECTORS,
    CACHE,
    AUDIT_IDENTITY,
    AGENT_SOCKET,
];

/// An existing home directory that was found to be private.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    path: PathBuf,
}

impl Home {
    /// Opens an existing home.
    ///
    /// # Errors
    /// When there is none, it is no directory, it is another user's, or others may look inside.
    pub fn at(dir: impl Into<PathBuf>) -> Result<Self, HomeError> {
        let path = dir.into();
        let found = fs::metadata(&path).map_err(|source| match source.kind() == io::ErrorKind::NotFound {
            true => HomeError::NotFound { path: path.clone() },
            false => HomeError::Io { doing: "look at", path: path.clone(), source },
        })?;
        if !found.is_dir() {
            return Err(HomeError::NotADirectory { path });
        }
        if found.uid() != rustix::process::geteuid().as_raw() {
            return Err(HomeError::ForeignOwner { path, owner: found.uid() });
        }
        if found.mode() & 0o077 != 0 {
            return Err(HomeError::Exposed { path, mode: found.mode() & 0o7777 });
        }
        Ok(Self { path })
    }

    /// Makes a home with its folders, or completes one whose making was interrupted. Parent
    /// directories must exist: a mistyped path makes nothing.
    ///
    /// # Errors
    /// As [`Home::at`], and when the directory holds anything that is not a home's.
    pub fn create(dir: impl Into<PathBuf>) -> Result<Self, HomeError> {
        let path = dir.into();
        make_private(&path)?;
        let home = Self::at(path)?;
        home.refuse_foreign_contents()?;
        make_private(&home.connectors())?;
        make_private(&home.cache())?;
        Ok(home)
    }

    /// The directory.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The vault's file.
    #[must_use]
    pub fn vault(&self) -> PathBuf {
        self.path.join(VAULT)
    }

    /// The journal's file.
    #[must_use]
    pub fn journal(&self) -> PathBuf {
        self.path.join(JOURNAL)
    }

    /// The file that declares connections.
    #[must_use]
    pub fn config(&self) -> PathBuf {
        self.path.join(CONFIG)
    }

    /// The folder of approved connectors.
    #[must_use]
    pub fn connectors(&self) -> PathBuf {
        self.path.join(CONNECTORS)
    }

    /// The folder of compiled connectors. It can be emptied at any time.
    #[must_use]
    pub fn cache(&self) -> PathBuf {
        self.path.join(CACHE)
    }

    /// Where the identity that opens the audit log is put unless another file is named. The host never reads
    /// it again; it is there for the operator to move away.
    #[must_use]
    pub fn audit_identity(&self) -> PathBuf {
        self.path.join(AUDIT_IDENTITY)
    }

    /// The socket on which a running host serves operators.
    #[must_use]
    pub fn operator_socket(&self) -> PathBuf {
        self.path.join(OPERATOR_SOCKET)
    }

    /// The socket on which agents reach a host that serves, unless another place is configured.
    #[must_use]
    pub fn agent_socket(&self) -> PathBuf {
        self.path.join(AGENT_SOCKET)
    }

    fn refuse_foreign_contents(&self) -> Result<(), HomeError> {
        let failed = |source| HomeError::Io { doing: "list", path: self.path.clone(), source };
        for entry in fs::read_dir(&self.path).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let certificate = Path::new(&name).extension().is_some_and(|ending| ending == "pem");
            if !certificate && !OURS.iter().any(|ours| name == *ours) {
                return Err(HomeError::NotEmpty { path: self.path.clone() });
            }
        }
        Ok(())
    }
}

/// Makes a directory that only its owner can enter, unless it is there already; its name is durable
/// when this returns.
pub(crate) fn make_private(path: &Path) -> Result<(), HomeError> {
    let failed = |source| HomeError::Io { doing: "create", path: path.to_owned(), source };
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
        Err(error) => return Err(failed(error)),
    }
    sync_folder_of(path).map_err(failed)
}

/// Makes a new or replaced name in the folder of `path` durable.
pub(crate) fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        Some(_) | None => Path::new("."),
    };
    File::open(folder)?.sync_all()
}

/// Why a directory is no usable home.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// There is none.
    #[error("there is no Proofport home at {}: make one with `proofport init`, or name another with `--home`", path.display())]
    NotFound {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// Something else has the name.
    #[error("{} is not a directory: name another home with `--home`", path.display())]
    NotADirectory {
        /// What was found.
        path: PathBuf,
    },
    /// Another user owns it.
    #[error("{} belongs to the user with id {owner}: run as that user, or name a home of your own with `--home`", path.display())]
    ForeignOwner {
        /// The directory.
        path: PathBuf,
        /// Its owner's user id.
        owner: u32,
    },
    /// Others may look inside.
    #[error("other users can enter {} (mode {mode:04o}): run `chmod 700 {}`", path.display(), path.display())]
    Exposed {
        /// The directory.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// It is used for something else.
    #[error("{} holds files that are not Proofport's: name an empty or a new directory", path.display())]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// A file operation failed.
    #[error("could not {doing} {}: {source}", path.display())]
    Io {
        /// What was tried.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// The operating system's answer.
        source: io::Error,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_new_home_is_private_and_opens_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("home");
        let home = Home::create(&path).unwrap();
        for made in [home.path().to_owned(), home.connectors(), home.cache()] {
            assert_eq!(fs::metadata(&made).unwrap().mode() & 0o777, 0o700, "{}", made.display());
        }
        assert_eq!(Home::at(&path).unwrap(), home);
        assert_eq!(Home::create(&path).unwrap(), home, "an interrupted `init` can be repeated");
    }

    #[test]
    fn what_is_no_private_directory_is_refused_with_advice() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("home");
        let check = |got: Result<Home, HomeError>, advice: &str| {
            let text = got.unwrap_err().to_string();
            assert!(text.contains(advice) && text.contains(path.to_str().unwrap()), "{text}");
        };
        check(Home::at(&path), "proofport init");
        fs::write(&path, "x").unwrap();
        check(Home::at(&path), "not a directory");
        check(Home::create(&path), "not a directory");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        for exposed in [0o750, 0o705, 0o701, 0o720] {
            mode(&path, exposed);
            check(Home::at(&path), &format!("chmod 700 {}", path.display()));
            check(Home::create(&path), "chmod 700");
        }
        mode(&path, 0o700);
        assert!(Home::at(&path).is_ok());
        fs::write(path.join("proofport.toml"), "").unwrap();
        fs::write(path.join("ca.pem"), "").unwrap();
        assert!(Home::create(&path).is_ok());
        fs::write(path.join("thesis.tex"), "").unwrap();
        check(Home::create(&path), "not Proofport's");
        assert!(!fs::exists(path.join("home/connectors")).unwrap());
    }
}
