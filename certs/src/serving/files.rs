//! A pair in files (`--tls-cert-file`, `--tls-key-file`). A mounted Secret changes by a swap of symbolic links, which a
//! watch of the file misses: the files are read again at every check, and compared by content.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// A file of the pair cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("{} cannot be read: {fault}", .path.display())]
pub struct FileError {
    /// The file.
    pub path: PathBuf,
    /// Why.
    pub fault: io::Error,
}

/// Certificate and key as they are in the files.
pub struct FilePair {
    /// Content of the certificate file.
    pub certificate: Vec<u8>,
    /// Content of the key file.
    pub key: Zeroizing<Vec<u8>>,
}

impl FilePair {
    /// Reads both files. A renewal between the two reads gives a mismatched pair, which
    /// [`super::ServedCertificate::offer`] refuses; the next check has both.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, FileError> {
        let read = |path: &Path| {
            std::fs::read(path).map_err(|fault| FileError {
                path: path.to_owned(),
                fault,
            })
        };
        Ok(Self {
            certificate: read(certificate)?,
            key: Zeroizing::new(read(key)?),
        })
    }
}

impl fmt::Debug for FilePair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FilePair").finish_non_exhaustive()
    }
}
