//! Rust as the second runtime of a process: what test_two_runtimes.py calls.

use std::os::raw::c_void;
use std::ptr;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use dlx::{Managed, Tensor};

static RELEASED: AtomicI64 = AtomicI64::new(0);
static GIVEN: AtomicU64 = AtomicU64::new(0);

struct Numbers(Vec<f32>);

impl AsRef<[f32]> for Numbers {
    fn as_ref(&self) -> &[f32] {
        &self.0
    }
}

impl Drop for Numbers {
    fn drop(&mut self) {
        RELEASED.fetch_add(1, Ordering::SeqCst);
    }
}

/// Imports a tensor and keeps it; NULL if that fails.
#[no_mangle]
pub unsafe extern "C" fn rt_take(managed: *mut c_void) -> *mut Tensor {
    let made = Managed::from_raw(managed.cast()).and_then(Tensor::from_dlpack);
    made.map_or(ptr::null_mut(), |tensor| Box::into_raw(Box::new(tensor)))
}

#[no_mangle]
pub unsafe extern "C" fn rt_address(tensor: *const Tensor) -> u64 {
    (*tensor).data() as u64
}

#[no_mangle]
pub unsafe extern "C" fn rt_sum(tensor: *const Tensor) -> f64 {
    (*tensor).view::<f32>().map_or(f64::NAN, |view| view.iter().map(|&v| f64::from(v)).sum())
}

#[no_mangle]
pub unsafe extern "C" fn rt_drop(tensor: *mut Tensor) {
    drop(Box::from_raw(tensor));
}

#[no_mangle]
pub unsafe extern "C" fn rt_drop_on_thread(tensor: *mut Tensor) {
    let tensor = Box::from_raw(tensor);
    std::thread::spawn(move || drop(tensor)).join().unwrap();
}

/// Exports a tensor on memory of Rust.
#[no_mangle]
pub extern "C" fn rt_give() -> *mut c_void {
    let tensor = Tensor::from_owner(Numbers(vec![0., 1., 2., 3., 4., 5.]), &[2, 3]).unwrap();
    GIVEN.store(tensor.data() as u64, Ordering::SeqCst);
    tensor.to_dlpack().unwrap().into_raw().cast()
}

#[no_mangle]
pub extern "C" fn rt_given() -> u64 {
    GIVEN.load(Ordering::SeqCst)
}

#[no_mangle]
pub extern "C" fn rt_released() -> i64 {
    RELEASED.load(Ordering::SeqCst)
}
