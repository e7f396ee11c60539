//! The filters called from Rust. Run: cargo run ../libfilter.so
use dlx::{Copy, Function, Tensor};

/// An owner that says when it is dropped.
struct Pixels(Vec<u8>);

impl AsRef<[u8]> for Pixels {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Pixels {
    fn drop(&mut self) {
        println!("released");
    }
}

fn words(tensor: &Tensor) -> dlx::Result<String> {
    let words: Vec<_> = tensor.to_vec::<u8>()?.iter().map(u8::to_string).collect();
    Ok(words.join(" "))
}

fn main() -> dlx::Result<()> {
    let path = std::env::args().nth(1).expect("the path of libfilter.so");
    // As filter.h has them, which demand no more than Function::load does.
    let (blur, brighten) = unsafe {
        let blur = "blur(image: uint8[h, w], radius: int = 1, out: uint8[h, w] result)";
        let brighten = "brighten(image: uint8[h, w] writable strided, factor: float = 1.5)";
        (
            Function::load(&path, "filter_blur_packed", blur)?,
            Function::load(&path, "filter_brighten_packed", brighten)?,
        )
    };

    let pixels = Pixels((0..12).map(|i| 10 * i).collect());
    let image = Tensor::from_owner(pixels, &[3, 4])?; // no copy; read-only, as all memory of Rust
    let blurred = blur.call(&[(&image).into()])?.remove(0);
    println!("{}", words(&blurred)?);
    let bright = image.copy()?;
    let column = bright.slice(1, 3..)?; // the last column, in place
    unsafe { brighten.call_writing(&[(&column).into()]) }?;
    println!("{}", words(&bright)?);

    let flat = image.reshape(&[12], Copy::Never)?;
    for wrong in [blur.call(&[(&flat).into()]), blur.call(&[(&image).into(), (-1i64).into()])] {
        println!("{}", wrong.unwrap_err());
    }

    let managed = blurred.to_dlpack()?; // for any library that takes DLPack
    drop(blurred); // `managed` keeps the memory
    let taken = Tensor::from_dlpack(managed)?;
    println!("({}, {}): {}", taken.shape()[0], taken.shape()[1], words(&taken.select(0, 0)?)?);
    Ok(())
}
