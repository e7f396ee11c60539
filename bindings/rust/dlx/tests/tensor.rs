//! Ownership, threads, element access and bad input.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::thread;

use dlx::{Copy, DType, ErrorCode, Managed, Order, Range, Tensor};

/// Counts its drops.
struct Owner(Vec<f32>, Arc<AtomicUsize>);

impl AsRef<[f32]> for Owner {
    fn as_ref(&self) -> &[f32] {
        &self.0
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::SeqCst);
    }
}

fn counted() -> (Tensor, Arc<AtomicUsize>) {
    let drops = Arc::new(AtomicUsize::new(0));
    let owner = Owner(vec![0., 1., 2., 3., 4., 5.], drops.clone());
    (Tensor::from_owner(owner, &[2, 3]).unwrap(), drops)
}

#[test]
fn the_last_user_drops_the_owner_once() {
    let (tensor, drops) = counted();
    let view = tensor.transpose().unwrap();
    let export = view.to_dlpack().unwrap();
    let imported = Tensor::from_dlpack(view.to_dlpack().unwrap()).unwrap();
    drop(tensor);
    drop(view);
    drop(imported);
    assert_eq!(drops.load(Ordering::SeqCst), 0);
    drop(export);
    assert_eq!(drops.load(Ordering::SeqCst), 1);
}

#[test]
fn a_failed_wrap_drops_the_owner_once() {
    let drops = Arc::new(AtomicUsize::new(0));
    let owner = Owner(vec![0.; 6], drops.clone());
    let error = Tensor::from_owner(owner, &[2, 4]).unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
    assert!(error.message().contains("[2, 4] for 6 elements"), "{error}");
    assert_eq!(drops.load(Ordering::SeqCst), 1);
    let owner = Owner(vec![0.; 6], drops.clone());
    let error = Tensor::from_owner(owner, &[-2, -3]).unwrap_err();
    assert!(error.message().contains("negative extent"), "{error}");
    assert_eq!(drops.load(Ordering::SeqCst), 2);
}

#[test]
fn no_copy_of_a_vector() {
    let values = vec![1u8, 2, 3];
    let address = values.as_ptr() as usize;
    let tensor = Tensor::from(values);
    assert_eq!(tensor.data() as usize, address);
    let managed = tensor.to_dlpack().unwrap();
    assert_eq!(managed.dl_tensor().data as usize, address);
    let back = Tensor::from_dlpack(unsafe { Managed::from_raw(managed.into_raw()) }.unwrap());
    assert_eq!(back.unwrap().as_slice::<u8>().unwrap(), [1, 2, 3]);
}

#[test]
fn threads_share_and_drop() {
    let (tensor, drops) = counted();
    let threads: Vec<_> = (0..8)
        .map(|i| {
            let tensor = tensor.clone();
            thread::spawn(move || {
                for _ in 0..200 {
                    let row = tensor.select(0, i % 2).unwrap().slice(0, Range::from(..).step(2));
                    assert_eq!(row.unwrap().to_vec::<f32>().unwrap().len(), 2);
                    // The message belongs to the thread that failed.
                    let error = tensor.select(0, 100 + i).unwrap_err();
                    assert!(error.message().contains(&format!("got {}", 100 + i)), "{error}");
                }
            })
        })
        .collect();
    drop(tensor);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert_eq!(drops.load(Ordering::SeqCst), 1);
}

#[test]
fn elements_by_index() {
    let (tensor, _) = counted();
    let columns = tensor.transpose().unwrap();
    let view = columns.view::<f32>().unwrap();
    assert_eq!((view[[2, 1]], view.get(&[3, 0]), view.get(&[0])), (5.0, None, None));
    assert_eq!(view.iter().copied().collect::<Vec<_>>(), [0., 3., 1., 4., 2., 5.]);
    let none = Tensor::zeros(&[2, 0], "int16".parse().unwrap()).unwrap();
    assert_eq!(none.view::<i16>().unwrap().iter().count(), 0);
    assert!(none.as_slice::<i16>().unwrap().is_empty());
    let scalar = Tensor::from_vec(vec![7i64], &[]).unwrap();
    assert_eq!(scalar.view::<i64>().unwrap()[[]], 7);
}

#[test]
fn writing_is_seen_by_all() {
    let tensor = Tensor::zeros(&[2, 2], DType::of::<i32>()).unwrap();
    unsafe { tensor.transpose().unwrap().view_mut::<i32>() }.unwrap()[[0, 1]] = 9;
    assert_eq!(tensor.as_slice::<i32>().unwrap(), [0, 0, 9, 0]);
    let ones = Tensor::from(vec![1i32, 2]);
    unsafe { tensor.copy_from(&ones) }.unwrap();
    assert_eq!(tensor.to_vec::<i32>().unwrap(), [1, 2, 1, 2]);
}

#[test]
fn bad_input_is_an_error() {
    let (tensor, _) = counted();
    let code = |error: dlx::Error| error.code();
    assert_eq!(code(tensor.view::<f64>().unwrap_err()), ErrorCode::InvalidArgument);
    assert_eq!(code(unsafe { tensor.view_mut::<f32>() }.unwrap_err()), ErrorCode::ReadOnly);
    assert_eq!(code(tensor.permute(&[0]).unwrap_err()), ErrorCode::InvalidArgument);
    assert_eq!(
        code(tensor.transpose().unwrap().as_slice::<f32>().unwrap_err()),
        ErrorCode::InvalidArgument
    );
    assert_eq!(code("float32\0".parse::<DType>().unwrap_err()), ErrorCode::InvalidArgument);
    assert_eq!(
        code(unsafe { Managed::from_raw(std::ptr::null_mut()) }.unwrap_err()),
        ErrorCode::InvalidArgument
    );
    let odd =
        Tensor::from(vec![0u8; 9]).slice(0, 1..).unwrap().bitcast(DType::of::<u16>()).unwrap();
    assert!(odd.view::<u16>().is_err() || odd.data() as usize % 2 == 0);
    assert_eq!(odd.to_vec::<u16>().unwrap(), [0; 4]);
    let refused = tensor.transpose().unwrap().contiguous_as(Order::C, Copy::Never).unwrap_err();
    assert_eq!(code(refused), ErrorCode::CopyRefused);
    for (strides, start) in [(&[3i64, 1][..], 1), (&[-3, 1], 0), (&[i64::MAX, 1], 0), (&[1], 0)] {
        let made = Tensor::from_vec_strided(vec![0f32; 6], &[2, 3], strides, start);
        assert_eq!(code(made.unwrap_err()), ErrorCode::InvalidArgument);
    }
}

#[test]
fn devices() {
    use dlx::{sys, Device};
    assert_eq!(Device::count(sys::kDLCPU), 1);
    assert_eq!("cuda:1".parse::<Device>().unwrap(), Device { kind: sys::kDLCUDA, id: 1 });
    assert!(!Device::reason(sys::kDLTrn).is_empty());
    let (tensor, _) = counted();
    assert_eq!(tensor.to_device(Device::CPU).unwrap().data(), tensor.data());
    assert_eq!(format!("{tensor:?}"), "Tensor(float32, [2, 3], cpu, read-only)");
}
