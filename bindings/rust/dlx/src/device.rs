use std::ffi::CStr;
use std::fmt;
use std::str::FromStr;

use crate::dtype::{c_text, named};
use crate::error::check;
use crate::{sys, Error, Result};

/// A device: its type (a DLPack number) and its id. Parses from and prints as a name such as `cuda:0`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Device {
    /// The DLPack device type (`sys::kDLCUDA` …).
    pub kind: i32,
    /// The number among the devices of that type.
    pub id: i32,
}

impl Device {
    /// Ordinary host memory.
    pub const CPU: Self = Self { kind: sys::kDLCPU, id: 0 };

    /// How many devices of this type the machine has.
    pub fn count(kind: i32) -> i32 {
        unsafe { sys::dlx_device_count(kind) }
    }

    /// Why there is no device of this type; empty if there is one.
    pub fn reason(kind: i32) -> String {
        unsafe { CStr::from_ptr(sys::dlx_backend_reason(kind)) }.to_string_lossy().into_owned()
    }

    /// Waits until all work that dlx submitted to the device is done.
    pub fn synchronize(self) -> Result<()> {
        check(unsafe { sys::dlx_device_synchronize(self.kind, self.id) })
    }

    /// Whether the CPU can access the memory.
    pub fn is_host(self) -> bool {
        let hosts = [sys::kDLCPU, sys::kDLCUDAHost, sys::kDLROCMHost, sys::kDLCUDAManaged];
        hosts.contains(&self.kind)
    }

    pub(crate) fn raw(self) -> sys::DLDevice {
        sys::DLDevice { device_type: self.kind, device_id: self.id }
    }
}

impl FromStr for Device {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let text = c_text(name, "device")?;
        let mut out = Self::CPU;
        check(unsafe { sys::dlx_device_parse(text.as_ptr(), &mut out.kind, &mut out.id) })?;
        Ok(out)
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match named(|out, size| unsafe { sys::dlx_device_name(self.kind, self.id, out, size) }) {
            Ok(name) => f.write_str(&name),
            Err(_) => write!(f, "{}:{}", self.kind, self.id),
        }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
