//! Tensors of memory that Rust owns.

use std::os::raw::c_void;
use std::ptr;

use crate::{sys, DType, Device, Element, Error, Result, Tensor};

impl Tensor {
    /// A tensor of the elements of `values`, in C order. The last user drops the vector.
    pub fn from_vec<T: Element>(values: Vec<T>, shape: &[i64]) -> Result<Self> {
        let mut owner = Box::new(values);
        let (data, len) = (owner.as_mut_ptr(), owner.len());
        wrap(data, len, shape, None, 0, 0, owner)
    }

    /// A tensor of some elements of `values`: element `[i, j]` is
    /// `values[start + i * strides[0] + j * strides[1]]`.
    pub fn from_vec_strided<T: Element>(
        values: Vec<T>,
        shape: &[i64],
        strides: &[i64],
        start: usize,
    ) -> Result<Self> {
        let mut owner = Box::new(values);
        let (data, len) = (owner.as_mut_ptr(), owner.len());
        wrap(data, len, shape, Some(strides), start, 0, owner)
    }

    /// A read-only tensor of the elements that `owner` holds, in C order: an `Arc<[T]>`, a memory map,
    /// a `&'static [T]`. The last user drops the owner.
    pub fn from_owner<T: Element, O>(owner: O, shape: &[i64]) -> Result<Self>
    where
        O: AsRef<[T]> + Send + Sync + 'static,
    {
        let owner = Box::new(owner);
        let values: &[T] = (*owner).as_ref();
        let (data, len) = (values.as_ptr() as *mut T, values.len());
        wrap(data, len, shape, None, 0, sys::DLPACK_FLAG_BITMASK_READ_ONLY, owner)
    }

    /// A new tensor whose bytes are `bytes`, copied: for dtypes that Rust has no type for.
    pub fn from_bytes(bytes: &[u8], shape: &[i64], dtype: DType) -> Result<Self> {
        let out = unsafe { Self::uninit(shape, dtype, Device::CPU) }?;
        if out.nbytes() != bytes.len() {
            return Err(Error::invalid(format!(
                "dlx::Tensor::from_bytes: `bytes` has {} bytes (expected {} for {shape:?} of {dtype})",
                bytes.len(),
                out.nbytes()
            )));
        }
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), out.data().cast(), bytes.len()) };
        Ok(out)
    }

    /// The bytes of all elements in C order, copied.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let host = self.to_device(Device::CPU)?.contiguous()?;
        host.synchronize()?;
        let mut bytes = vec![0; host.nbytes()];
        unsafe { ptr::copy_nonoverlapping(host.data().cast(), bytes.as_mut_ptr(), bytes.len()) };
        Ok(bytes)
    }
}

impl<T: Element> From<Vec<T>> for Tensor {
    /// A tensor with one axis. Panics only if memory is exhausted.
    fn from(values: Vec<T>) -> Self {
        let shape = [values.len() as i64];
        Self::from_vec(values, &shape).expect("a compact vector is a tensor")
    }
}

/// Drops the owner of wrapped memory; called once, on any thread.
unsafe extern "C" fn drop_owner<O>(_data: *mut c_void, owner: *mut c_void) {
    drop(Box::from_raw(owner.cast::<O>()));
}

/// `data` and `len` are the elements that `owner` holds.
fn wrap<T: Element, O: Send + Sync>(
    data: *mut T,
    len: usize,
    shape: &[i64],
    strides: Option<&[i64]>,
    start: usize,
    flags: u64,
    owner: Box<O>,
) -> Result<Tensor> {
    let size = shape.iter().try_fold(1i64, |product, &extent| product.checked_mul(extent));
    match strides {
        None if size != Some(len as i64) => {
            return Err(Error::invalid(format!(
                "dlx::Tensor: `shape` does not fit (got {shape:?} for {len} elements)"
            )));
        }
        Some(strides) if !fits(len, shape, strides, start) => {
            return Err(Error::invalid(format!(
                "dlx::Tensor: `shape`, `strides` and `start` do not fit \
                 (got {shape:?}, {strides:?} and {start} for {len} elements)"
            )));
        }
        _ => {}
    }
    let first = data.wrapping_add(if size == Some(0) { 0 } else { start });
    unsafe { Tensor::wrap(first, shape, strides, flags, owner) }
}

impl Tensor {
    /// # Safety
    ///
    /// The elements from `first` on lie in memory of `owner`.
    pub(crate) unsafe fn wrap<T: Element, O: Send + Sync>(
        first: *mut T,
        shape: &[i64],
        strides: Option<&[i64]>,
        flags: u64,
        owner: Box<O>,
    ) -> Result<Self> {
        let description = sys::DLTensor {
            data: first.cast(),
            device: Device::CPU.raw(),
            ndim: i32::try_from(shape.len()).unwrap_or(i32::MAX),
            dtype: T::DTYPE.raw(),
            shape: shape.as_ptr() as *mut i64,
            strides: strides.map_or(ptr::null_mut(), |strides| strides.as_ptr() as *mut i64),
            byte_offset: 0,
        };
        let owner = Box::into_raw(owner);
        let made = Self::make(|out| {
            sys::dlx_tensor_wrap(&description, flags, Some(drop_owner::<O>), owner.cast(), out)
        });
        if made.is_err() {
            drop(Box::from_raw(owner));
        }
        made
    }
}

/// Whether all elements lie within `len` elements. What is wrong by itself, such as a negative extent,
/// is left to dlx.
fn fits(len: usize, shape: &[i64], strides: &[i64], start: usize) -> bool {
    if shape.len() != strides.len() {
        return false;
    }
    if shape.iter().any(|&extent| extent <= 0) {
        return true;
    }
    let (mut low, mut high) = (start as i128, start as i128);
    for (&extent, &stride) in shape.iter().zip(strides) {
        let reach = (extent as i128 - 1) * stride as i128;
        if reach < 0 {
            low += reach;
        } else {
            high += reach;
        }
    }
    low >= 0 && high < len as i128
}
