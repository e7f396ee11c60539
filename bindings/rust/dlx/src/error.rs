use std::ffi::CStr;
use std::fmt;

use crate::sys;

/// What kind of failure an [`Error`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorCode {
    /// A mistake of the caller; the message names the argument.
    InvalidArgument,
    /// An allocator returned no memory.
    OutOfMemory,
    /// Valid, but dlx or DLPack cannot do it.
    Unsupported,
    /// No driver or no such device on this machine.
    Unavailable,
    /// A driver call failed.
    Driver,
    /// A write to read-only data, or its export as writable.
    ReadOnly,
    /// A copy is needed, and [`Copy::Never`](crate::Copy::Never) forbids it.
    CopyRefused,
    /// The data is on another device.
    DeviceRefused,
    /// A bug in dlx, or a status of a newer libdlx.
    Internal,
}

impl ErrorCode {
    pub(crate) fn of(status: i32) -> Self {
        match status {
            sys::DLX_ERROR_INVALID_ARGUMENT => Self::InvalidArgument,
            sys::DLX_ERROR_OUT_OF_MEMORY => Self::OutOfMemory,
            sys::DLX_ERROR_UNSUPPORTED => Self::Unsupported,
            sys::DLX_ERROR_UNAVAILABLE => Self::Unavailable,
            sys::DLX_ERROR_DRIVER => Self::Driver,
            sys::DLX_ERROR_READ_ONLY => Self::ReadOnly,
            sys::DLX_ERROR_COPY_REFUSED => Self::CopyRefused,
            sys::DLX_ERROR_DEVICE_REFUSED => Self::DeviceRefused,
            _ => Self::Internal,
        }
    }
}

/// A failed call: what kind of failure, and dlx's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    code: ErrorCode,
    message: String,
}

/// The result of a call that can fail.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorCode::InvalidArgument, message)
    }

    /// The kind of the failure.
    pub fn code(&self) -> ErrorCode {
        self.code
    }

    /// The message: the function, what is wrong, what came and what was expected.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

/// Turns the status of a call on this thread into a result.
pub(crate) fn check(status: i32) -> Result<()> {
    if status == sys::DLX_OK {
        return Ok(());
    }
    let message = unsafe { CStr::from_ptr(sys::dlx_last_error()) }.to_string_lossy();
    Err(Error::new(ErrorCode::of(status), message))
}
