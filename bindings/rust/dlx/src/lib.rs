#![doc = include_str!("../README.md")]
#![warn(missing_docs)]

mod device;
mod dlpack;
mod dtype;
mod error;
mod function;
mod memory;
#[cfg(feature = "ndarray")]
mod ndarray;
mod options;
mod tensor;
mod view;

pub use device::Device;
pub use dlpack::{LegacyManaged, Managed};
pub use dlx_sys as sys;
pub use dtype::{DType, Element};
pub use error::{Error, ErrorCode, Result};
pub use function::{Argument, Function};
pub use options::{Copy, Order, Range};
pub use tensor::Tensor;
pub use view::{Iter, TensorView, TensorViewMut};

/// The version of the libdlx that is loaded.
pub fn version() -> &'static str {
    unsafe { std::ffi::CStr::from_ptr(sys::dlx_version()) }.to_str().unwrap_or("")
}
