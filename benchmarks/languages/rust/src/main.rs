//! Prints the nanoseconds of an exchange and of a copy.
use std::sync::Arc;
use std::time::Instant;

use dlx::{DType, Tensor};

fn time(count: u32, mut call: impl FnMut()) -> u128 {
    let mut round = || {
        let start = Instant::now();
        (0..count).for_each(|_| call());
        start.elapsed().as_nanos() / u128::from(count)
    };
    (0..6).map(|_| round()).min().unwrap()
}

fn main() -> dlx::Result<()> {
    let small: Arc<[f32]> = Arc::from(vec![0f32; 6]);
    let exchange = time(200_000, || {
        let tensor = Tensor::from_owner(small.clone(), &[2, 3]).unwrap();
        drop(tensor.to_dlpack().unwrap());
    });
    let columns = Tensor::zeros(&[512, 512], DType::of::<f32>())?.transpose()?;
    let packed = Tensor::zeros(&[512, 512], DType::of::<f32>())?;
    let copy = time(200, || unsafe { packed.copy_from(&columns) }.unwrap());
    println!("{exchange} {copy}");
    Ok(())
}
