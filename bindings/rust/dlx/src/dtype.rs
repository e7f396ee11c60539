use std::ffi::{CStr, CString};
use std::fmt;
use std::os::raw::c_char;
use std::str::FromStr;

use crate::error::check;
use crate::{sys, Error, Result};

/// A data type: a DLPack code, bits of one lane, and lanes. Parses from and prints as a name such as
/// `float32`, `bfloat16` or `uint8x4`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DType {
    /// The DLPack code (`sys::kDLFloat` …).
    pub code: u8,
    /// Bits of one lane.
    pub bits: u8,
    /// Lanes; 1 unless the element is a short vector.
    pub lanes: u16,
}

impl DType {
    /// The dtype of a Rust type.
    pub fn of<T: Element>() -> Self {
        T::DTYPE
    }

    /// Bits of one element with all lanes; 0 if dlx does not know the dtype.
    pub fn total_bits(&self) -> i64 {
        unsafe { sys::dlx_dtype_bits(&self.raw()) }
    }

    pub(crate) fn raw(self) -> sys::DLDataType {
        sys::DLDataType { code: self.code, bits: self.bits, lanes: self.lanes }
    }

    pub(crate) fn from_raw(raw: sys::DLDataType) -> Self {
        Self { code: raw.code, bits: raw.bits, lanes: raw.lanes }
    }
}

impl FromStr for DType {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let text = c_text(name, "dtype")?;
        let mut out = sys::DLDataType { code: 0, bits: 0, lanes: 0 };
        check(unsafe { sys::dlx_dtype_parse(text.as_ptr(), &mut out) })?;
        Ok(Self::from_raw(out))
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match named(|out, size| unsafe { sys::dlx_dtype_name(&self.raw(), out, size) }) {
            Ok(name) => f.write_str(&name),
            Err(_) => write!(f, "code {}, bits {}, lanes {}", self.code, self.bits, self.lanes),
        }
    }
}

impl fmt::Debug for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A name for C, which cannot have zero bytes.
pub(crate) fn c_text(name: &str, what: &str) -> Result<CString> {
    CString::new(name)
        .map_err(|_| Error::invalid(format!("dlx: the {what} has a zero byte: {name:?}")))
}

/// The text that a call writes into a buffer.
pub(crate) fn named(call: impl FnOnce(*mut c_char, usize) -> i32) -> Result<String> {
    let mut text: [c_char; sys::DLX_NAME_SIZE] = [0; sys::DLX_NAME_SIZE];
    check(call(text.as_mut_ptr(), text.len()))?;
    Ok(unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy().into_owned())
}

/// A Rust type with a dtype, for which every pattern of bits is a value. (So `bool` is none: read
/// `Tensor::bitcast` to `u8`.)
///
/// # Safety
///
/// `DTYPE` describes the memory of the type, and the type is valid for any bytes.
pub unsafe trait Element: std::marker::Copy + Send + Sync + 'static {
    /// The dtype.
    const DTYPE: DType;
}

macro_rules! elements {
    ($($type:ty: $code:ident),*) => {$(
        unsafe impl Element for $type {
            const DTYPE: DType = DType {
                code: sys::$code as u8,
                bits: 8 * std::mem::size_of::<$type>() as u8,
                lanes: 1,
            };
        }
    )*};
}
elements!(
    i8: kDLInt, i16: kDLInt, i32: kDLInt, i64: kDLInt, i128: kDLInt,
    u8: kDLUInt, u16: kDLUInt, u32: kDLUInt, u64: kDLUInt, u128: kDLUInt,
    f32: kDLFloat, f64: kDLFloat
);
