//! dlx from Rust: share a vector by DLPack. The last user drops it. Run: cargo run
use dlx::Tensor;

/// An owner that says when it is dropped.
struct Matrix(Vec<f32>);

impl AsRef<[f32]> for Matrix {
    fn as_ref(&self) -> &[f32] {
        &self.0
    }
}

impl Drop for Matrix {
    fn drop(&mut self) {
        println!("released");
    }
}

fn main() -> dlx::Result<()> {
    let matrix = Tensor::from_owner(Matrix(vec![0., 1., 2., 3., 4., 5.]), &[2, 3])?;
    if let Err(error) = matrix.select(0, 9) {
        println!("{error}");
    }
    let managed = matrix.transpose()?.to_dlpack()?; // for any library that takes DLPack
    drop(matrix); // `managed` keeps the memory

    let taken = Tensor::from_dlpack(managed)?;
    let values: Vec<_> = taken.view::<f32>()?.iter().map(f32::to_string).collect();
    println!("({}, {}): {}", taken.shape()[0], taken.shape()[1], values.join(" "));
    Ok(())
}
