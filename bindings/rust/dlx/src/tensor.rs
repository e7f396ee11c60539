use std::fmt;
use std::ptr::{self, NonNull};

use crate::error::check;
use crate::{sys, Copy, DType, Device, Element, Error, Order, Range, Result};

/// A tensor: an immutable description of memory, and a share in the memory's owner.
///
/// `clone()` shares the tensor (as `Arc` does); [`copy`](Tensor::copy) copies the elements. Views keep
/// the memory alive, and the last user of it frees it, on whatever thread that is.
///
/// Any thread may use a tensor. Reads are safe functions and writes are `unsafe` ones, because other
/// handles, other libraries and other threads may read the same memory.
pub struct Tensor(NonNull<sys::dlx_tensor>);

// The description never changes, the reference count is atomic, and owners of wrapped memory are
// Send and Sync.
unsafe impl Send for Tensor {}
unsafe impl Sync for Tensor {}

impl Tensor {
    /// Takes ownership of a reference that the C interface returned.
    ///
    /// # Safety
    ///
    /// `owned` is NULL or a reference that the caller owns, and nobody writes to its memory while safe
    /// code reads it.
    pub unsafe fn from_raw(owned: *mut sys::dlx_tensor) -> Result<Self> {
        NonNull::new(owned).map(Self).ok_or_else(|| {
            Error::invalid("dlx::Tensor::from_raw: `owned` is NULL (expected a tensor)")
        })
    }

    /// The reference for the C interface, still owned by `self`.
    pub fn as_raw(&self) -> *mut sys::dlx_tensor {
        self.0.as_ptr()
    }

    /// The reference for the C interface, which the caller owns now.
    pub fn into_raw(self) -> *mut sys::dlx_tensor {
        let raw = self.as_raw();
        std::mem::forget(self);
        raw
    }

    /// Runs a call whose last parameter is a new tensor.
    pub(crate) fn make(call: impl FnOnce(*mut *mut sys::dlx_tensor) -> i32) -> Result<Self> {
        let mut out = ptr::null_mut();
        check(call(&mut out))?;
        unsafe { Self::from_raw(out) }
    }

    /// A new compact tensor in host memory whose bytes are all zero.
    pub fn zeros(shape: &[i64], dtype: DType) -> Result<Self> {
        let out = unsafe { Self::uninit(shape, dtype, Device::CPU) }?;
        unsafe { ptr::write_bytes(out.data().cast::<u8>(), 0, out.nbytes()) };
        Ok(out)
    }

    /// A new compact tensor on any device, whose data is not initialised.
    ///
    /// # Safety
    ///
    /// The data is written before it is read.
    pub unsafe fn uninit(shape: &[i64], dtype: DType, device: Device) -> Result<Self> {
        let ndim = count(shape);
        Self::make(|out| {
            let (kind, id) = (device.kind, device.id);
            sys::dlx_tensor_empty(ndim, shape.as_ptr(), &dtype.raw(), kind, id, ptr::null(), out)
        })
    }

    /// Number of axes.
    pub fn ndim(&self) -> usize {
        unsafe { sys::dlx_tensor_ndim(self.as_raw()) as usize }
    }

    /// Extents.
    pub fn shape(&self) -> &[i64] {
        unsafe { numbers(sys::dlx_tensor_shape(self.as_raw()), self.ndim()) }
    }

    /// Strides, in elements.
    pub fn strides(&self) -> &[i64] {
        unsafe { numbers(sys::dlx_tensor_strides(self.as_raw()), self.ndim()) }
    }

    /// Data type.
    pub fn dtype(&self) -> DType {
        DType::from_raw(unsafe { *sys::dlx_tensor_dtype(self.as_raw()) })
    }

    /// Device.
    pub fn device(&self) -> Device {
        let raw = self.as_raw();
        unsafe {
            Device { kind: sys::dlx_tensor_device_type(raw), id: sys::dlx_tensor_device_id(raw) }
        }
    }

    /// Whether the data must not be written.
    pub fn is_readonly(&self) -> bool {
        unsafe { sys::dlx_tensor_flags(self.as_raw()) & sys::DLPACK_FLAG_BITMASK_READ_ONLY != 0 }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        unsafe { sys::dlx_tensor_size(self.as_raw()) as usize }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Size in bytes of all elements in compact form.
    pub fn nbytes(&self) -> usize {
        unsafe { sys::dlx_tensor_nbytes(self.as_raw()) as usize }
    }

    /// Whether the elements are compact in `order`.
    pub fn is_contiguous(&self, order: Order) -> bool {
        let order = if order == Order::F { sys::DLX_ORDER_F } else { sys::DLX_ORDER_C };
        unsafe { sys::dlx_tensor_is_contiguous(self.as_raw(), order) != 0 }
    }

    /// Address of the first element, or the handle if the device has handles.
    pub fn data(&self) -> *mut std::os::raw::c_void {
        unsafe { sys::dlx_tensor_data(self.as_raw()) }
    }

    /// A part of one axis: `t.slice(0, 1..)`, `t.slice(-1, Range::from(..).step(-1))`.
    pub fn slice(&self, axis: i32, range: impl Into<Range>) -> Result<Self> {
        let Range { start, stop, step } = range.into();
        Self::make(|out| unsafe {
            sys::dlx_tensor_slice(self.as_raw(), axis, start, stop, step, out)
        })
    }

    /// One position of an axis, without that axis; a negative `index` counts from the end.
    pub fn select(&self, axis: i32, index: i64) -> Result<Self> {
        Self::make(|out| unsafe { sys::dlx_tensor_select(self.as_raw(), axis, index, out) })
    }

    /// The axes reordered: axis `i` of the view is axis `axes[i]`.
    pub fn permute(&self, axes: &[i32]) -> Result<Self> {
        if axes.len() != self.ndim() {
            let (got, expected) = (axes.len(), self.ndim());
            return Err(Error::invalid(format!(
                "dlx_tensor_permute: `axes` has {got} numbers (expected {expected})"
            )));
        }
        Self::make(|out| unsafe { sys::dlx_tensor_permute(self.as_raw(), axes.as_ptr(), out) })
    }

    /// The axes reversed.
    pub fn transpose(&self) -> Result<Self> {
        Self::make(|out| unsafe { sys::dlx_tensor_permute(self.as_raw(), ptr::null(), out) })
    }

    /// Without these axes, which have extent 1; without all such axes if `axes` is empty.
    pub fn squeeze(&self, axes: &[i32]) -> Result<Self> {
        let first = if axes.is_empty() { ptr::null() } else { axes.as_ptr() };
        Self::make(|out| unsafe { sys::dlx_tensor_squeeze(self.as_raw(), count(axes), first, out) })
    }

    /// With a new axis of extent 1 at position `axis`.
    pub fn expand_dims(&self, axis: i32) -> Result<Self> {
        Self::make(|out| unsafe { sys::dlx_tensor_expand_dims(self.as_raw(), axis, out) })
    }

    /// Repeated to `shape` by NumPy's rules, without a copy.
    pub fn broadcast_to(&self, shape: &[i64]) -> Result<Self> {
        Self::make(|out| unsafe {
            sys::dlx_tensor_broadcast_to(self.as_raw(), count(shape), shape.as_ptr(), out)
        })
    }

    /// The same bytes as another dtype.
    pub fn bitcast(&self, dtype: DType) -> Result<Self> {
        Self::make(|out| unsafe { sys::dlx_tensor_bitcast(self.as_raw(), &dtype.raw(), out) })
    }

    /// The same elements, read-only.
    pub fn as_readonly(&self) -> Result<Self> {
        Self::make(|out| unsafe { sys::dlx_tensor_as_readonly(self.as_raw(), out) })
    }

    /// Itself if its elements are compact in C order, else a compact copy.
    pub fn contiguous(&self) -> Result<Self> {
        self.contiguous_as(Order::C, Copy::IfNeeded)
    }

    /// As [`contiguous`](Tensor::contiguous), in any order, with a say in copies.
    pub fn contiguous_as(&self, order: Order, copy: Copy) -> Result<Self> {
        let options = copy.options(order);
        Self::make(|out| unsafe { sys::dlx_tensor_contiguous(self.as_raw(), &options, out) })
    }

    /// A compact, writable copy on the same device. (`clone()` shares the tensor.)
    pub fn copy(&self) -> Result<Self> {
        Self::make(|out| unsafe { sys::dlx_tensor_clone(self.as_raw(), ptr::null(), out) })
    }

    /// The same elements in another shape; one extent may be -1. A view if strides can express it.
    pub fn reshape(&self, shape: &[i64], copy: Copy) -> Result<Self> {
        let options = copy.options(Order::C);
        Self::make(|out| unsafe {
            sys::dlx_tensor_reshape(self.as_raw(), count(shape), shape.as_ptr(), &options, out)
        })
    }

    /// The tensor on another device: itself if it is there, else a copy.
    pub fn to_device(&self, device: Device) -> Result<Self> {
        let (kind, id) = (device.kind, device.id);
        Self::make(|out| unsafe {
            sys::dlx_tensor_to_device(self.as_raw(), kind, id, ptr::null(), out)
        })
    }

    /// Copies the elements of `source`, broadcast to this tensor's shape, into this tensor.
    ///
    /// # Safety
    ///
    /// Nothing else reads or writes this tensor's memory during the call, and no [`TensorView`] of it
    /// exists.
    ///
    /// [`TensorView`]: crate::TensorView
    pub unsafe fn copy_from(&self, source: &Self) -> Result<()> {
        check(sys::dlx_tensor_copy_from(self.as_raw(), source.as_raw(), ptr::null()))
    }

    /// Waits until the data is ready. On the CPU it always is.
    pub fn synchronize(&self) -> Result<()> {
        check(unsafe { sys::dlx_tensor_synchronize(self.as_raw()) })
    }

    /// All elements in C order, copied. `T` must be the type of the dtype.
    pub fn to_vec<T: Element>(&self) -> Result<Vec<T>> {
        let host = self.to_device(Device::CPU)?.contiguous()?;
        let aligned = host.data() as usize % std::mem::align_of::<T>() == 0;
        let host = if aligned { host } else { host.copy()? };
        host.as_slice().map(<[T]>::to_vec)
    }
}

impl Clone for Tensor {
    fn clone(&self) -> Self {
        unsafe { sys::dlx_tensor_retain(self.as_raw()) };
        Self(self.0)
    }
}

impl Drop for Tensor {
    fn drop(&mut self) {
        unsafe { sys::dlx_tensor_release(self.as_raw()) };
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let readonly = if self.is_readonly() { ", read-only" } else { "" };
        write!(f, "Tensor({}, {:?}, {}{readonly})", self.dtype(), self.shape(), self.device())
    }
}

/// A count above i32::MAX becomes i32::MAX, which dlx refuses.
fn count<T>(values: &[T]) -> i32 {
    i32::try_from(values.len()).unwrap_or(i32::MAX)
}

/// The `count` numbers at `first`, which may be NULL if there are none.
unsafe fn numbers<'a>(first: *const i64, count: usize) -> &'a [i64] {
    if count == 0 {
        return &[];
    }
    std::slice::from_raw_parts(first, count)
}
