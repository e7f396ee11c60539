use std::ptr::{self, NonNull};

use crate::error::check;
use crate::{sys, Error, Result, Tensor};

macro_rules! managed {
    ($(#[$doc:meta])* $name:ident, $raw:ident) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name(NonNull<sys::$raw>);

        // Any thread may call the deleter, by the rules of DLPack.
        unsafe impl Send for $name {}

        impl $name {
            /// Takes ownership of what another library exported.
            ///
            /// # Safety
            ///
            /// `managed` is NULL or a valid struct that the caller owns, and its producer allows that
            /// safe code reads the memory: nobody writes to it meanwhile.
            pub unsafe fn from_raw(managed: *mut sys::$raw) -> Result<Self> {
                NonNull::new(managed).map(Self).ok_or_else(|| {
                    Error::invalid("dlx: `managed` is NULL (expected a managed tensor)")
                })
            }

            /// The struct for a library that takes it; its last user calls its deleter.
            pub fn into_raw(self) -> *mut sys::$raw {
                let raw = self.0.as_ptr();
                std::mem::forget(self);
                raw
            }

            /// The description of the tensor.
            pub fn dl_tensor(&self) -> &sys::DLTensor {
                unsafe { &self.0.as_ref().dl_tensor }
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                unsafe {
                    if let Some(deleter) = self.0.as_ref().deleter {
                        deleter(self.0.as_ptr());
                    }
                }
            }
        }
    };
}

managed! {
    /// A tensor in transit between libraries (DLPack 1.x). Dropping it calls its deleter.
    Managed, DLManagedTensorVersioned
}
managed! {
    /// The same for the struct of DLPack before 1.0.
    LegacyManaged, DLManagedTensor
}

impl Tensor {
    /// Imports a tensor, which is consumed: if this fails, its deleter is called.
    pub fn from_dlpack(managed: Managed) -> Result<Self> {
        let mut consumed = 0;
        let made = Self::make(|out| unsafe {
            sys::dlx_tensor_from_dlpack_versioned(managed.0.as_ptr(), &mut consumed, out)
        });
        if consumed != 0 {
            std::mem::forget(managed);
        }
        made
    }

    /// The same for DLPack before 1.0.
    pub fn from_legacy_dlpack(managed: LegacyManaged) -> Result<Self> {
        let made =
            Self::make(|out| unsafe { sys::dlx_tensor_from_dlpack(managed.0.as_ptr(), 0, out) })?;
        std::mem::forget(managed);
        Ok(made)
    }

    /// Exports the tensor for another library. The export shares the memory, except that negative
    /// strides become a copy.
    pub fn to_dlpack(&self) -> Result<Managed> {
        let mut out = ptr::null_mut();
        check(unsafe {
            sys::dlx_tensor_to_dlpack_versioned(self.as_raw(), ptr::null(), &mut out)
        })?;
        unsafe { Managed::from_raw(out) }
    }

    /// Exports the tensor for a library that knows DLPack before 1.0 only.
    pub fn to_legacy_dlpack(&self) -> Result<LegacyManaged> {
        let mut out = ptr::null_mut();
        check(unsafe { sys::dlx_tensor_to_dlpack(self.as_raw(), ptr::null(), &mut out) })?;
        unsafe { LegacyManaged::from_raw(out) }
    }
}
