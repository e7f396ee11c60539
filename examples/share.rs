//! dlx from Rust: share a Vec by DLPack. The last user frees it.
//! Build: rustc share.rs -L native=LIBDIR -l dlx
use std::ffi::CStr;
use std::os::raw::{c_char, c_void};
use std::ptr::{null, null_mut};

#[repr(C)]
struct DLDevice {
    device_type: i32,
    device_id: i32,
}

#[repr(C)]
struct DLDataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
struct DLTensor {
    data: *mut c_void,
    device: DLDevice,
    ndim: i32,
    dtype: DLDataType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct DLManagedTensorVersioned {
    version: [u32; 2],
    manager_ctx: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut DLManagedTensorVersioned)>,
    flags: u64,
    dl_tensor: DLTensor,
}

#[repr(C)]
struct DlxTensor {
    _opaque: [u8; 0],
}

extern "C" {
    fn dlx_last_error() -> *const c_char;
    fn dlx_tensor_wrap(
        description: *const DLTensor,
        flags: u64,
        deleter: Option<extern "C" fn(*mut c_void, *mut c_void)>,
        user_data: *mut c_void,
        out: *mut *mut DlxTensor,
    ) -> i32;
    fn dlx_tensor_permute(
        tensor: *mut DlxTensor,
        axes: *const i32,
        out: *mut *mut DlxTensor,
    ) -> i32;
    fn dlx_tensor_select(
        tensor: *mut DlxTensor,
        axis: i32,
        index: i64,
        out: *mut *mut DlxTensor,
    ) -> i32;
    fn dlx_tensor_release(tensor: *mut DlxTensor);
    fn dlx_tensor_to_dlpack_versioned(
        tensor: *mut DlxTensor,
        options: *const c_void,
        out: *mut *mut DLManagedTensorVersioned,
    ) -> i32;
}

/// Turn a status into a Result, with dlx's message as the error.
fn check(status: i32) -> Result<(), String> {
    if status == 0 {
        return Ok(());
    }
    Err(unsafe { CStr::from_ptr(dlx_last_error()) }.to_string_lossy().into_owned())
}

/// The last user of the memory calls this, on any thread.
extern "C" fn drop_vec(_data: *mut c_void, user_data: *mut c_void) {
    drop(unsafe { Box::from_raw(user_data as *mut Vec<f32>) });
    println!("released");
}

/// Hand a Vec to dlx as a row-major matrix. On an error the Vec is dropped here.
fn wrap(values: Vec<f32>, mut shape: [i64; 2]) -> Result<*mut DlxTensor, String> {
    let mut owner = Box::new(values);
    let description = DLTensor {
        data: owner.as_mut_ptr().cast(),
        device: DLDevice { device_type: 1, device_id: 0 },
        ndim: 2,
        dtype: DLDataType { code: 2, bits: 32, lanes: 1 },
        shape: shape.as_mut_ptr(),
        strides: null_mut(),
        byte_offset: 0,
    };
    let mut tensor = null_mut();
    let user_data: *mut Vec<f32> = &mut *owner;
    check(unsafe {
        dlx_tensor_wrap(&description, 0, Some(drop_vec), user_data.cast(), &mut tensor)
    })?;
    let _ = Box::into_raw(owner);
    Ok(tensor)
}

fn main() -> Result<(), String> {
    let matrix = wrap(vec![0., 1., 2., 3., 4., 5.], [2, 3])?;
    let (mut none, mut transposed, mut managed) = (null_mut(), null_mut(), null_mut());
    unsafe {
        if let Err(words) = check(dlx_tensor_select(matrix, 0, 9, &mut none)) {
            println!("{words}");
        }
        check(dlx_tensor_permute(matrix, null(), &mut transposed))?; // a view
        dlx_tensor_release(matrix); // the view keeps the memory
        check(dlx_tensor_to_dlpack_versioned(transposed, null(), &mut managed))?;
        dlx_tensor_release(transposed);

        let t = &(*managed).dl_tensor; // what a DLPack consumer gets
        let (shape, strides) =
            (std::slice::from_raw_parts(t.shape, 2), std::slice::from_raw_parts(t.strides, 2));
        print!("({}, {}):", shape[0], shape[1]);
        for i in 0..shape[0] {
            for j in 0..shape[1] {
                print!(
                    " {}",
                    *(t.data as *const f32).offset((i * strides[0] + j * strides[1]) as isize)
                );
            }
        }
        println!();
        if let Some(deleter) = (*managed).deleter {
            deleter(managed);
        }
    }
    Ok(())
}
