//! Functions of C with contracts, here of examples/filter (DLX_FILTER names its library).

use std::os::raw::c_void;

use dlx::{sys, DType, ErrorCode, Function, Tensor};

const BLUR: &str = "blur(image: uint8[h, w], radius: int = 1, out: uint8[h, w] result)";
const BRIGHTEN: &str = "brighten(image: uint8[h, w] writable strided, factor: float = 1.5)";

macro_rules! or_return {
    ($function:expr) => {
        match $function {
            Some(function) => function,
            None => return,
        }
    };
}

/// A function of the library; None without the library.
fn function(name: &str, contract: &str) -> Option<Function> {
    let path = std::env::var("DLX_FILTER").ok()?;
    for (path, name) in [("/no/such/library.so", name), (&*path, "no_such_symbol")] {
        let error = unsafe { Function::load(path, name, contract) }.unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidArgument);
    }
    Some(unsafe { Function::load(&path, name, contract) }.unwrap())
}

fn image() -> Tensor {
    let zeros = Tensor::zeros(&[3, 4], DType::of::<u8>()).unwrap();
    let pixels = Tensor::from_vec((0..12).map(|i| 10 * i).collect::<Vec<u8>>(), &[3, 4]).unwrap();
    unsafe { zeros.copy_from(&pixels) }.unwrap();
    zeros
}

#[test]
fn results_are_tensors() {
    let blur = or_return!(function("filter_blur_packed", BLUR));
    let [blurred] = <[Tensor; 1]>::try_from(blur.call(&[(&image()).into()]).unwrap()).unwrap();
    assert_eq!(blurred.shape(), [3, 4]);
    assert_eq!(blurred.as_slice::<u8>().unwrap(), [25, 30, 40, 45, 45, 50, 60, 65, 65, 70, 80, 85]);
    let same = blur.call(&[(&image()).into(), 0i64.into()]).unwrap();
    assert_eq!(same[0].as_slice::<u8>().unwrap()[..3], [0, 10, 20]);
}

#[test]
fn arguments_are_written() {
    let brighten = or_return!(function("filter_brighten_packed", BRIGHTEN));
    let image = image();
    let column = image.slice(1, 3..).unwrap();
    assert!(brighten.call(&[(&column).into()]).unwrap_err().message().contains("call_writing"));
    assert!(unsafe { brighten.call_writing(&[(&column).into()]) }.unwrap().is_empty());
    assert_eq!(image.as_slice::<u8>().unwrap(), [0, 10, 20, 45, 40, 50, 60, 105, 80, 90, 100, 165]);
}

#[test]
fn what_does_not_fit_is_an_error() {
    let blur = or_return!(function("filter_blur_packed", BLUR));
    let brighten = or_return!(function("filter_brighten_packed", BRIGHTEN));
    let image = image();
    let flat = image.reshape(&[12], dlx::Copy::Never).unwrap();
    let words = |error: dlx::Error| error.message().to_owned();
    let got = words(blur.call(&[(&flat).into()]).unwrap_err());
    assert_eq!(got, "blur: `image` must have 2 axes, uint8[h, w] (got 1, shape (12,))");
    let got = words(blur.call(&[(&image).into(), (-1i64).into()]).unwrap_err());
    assert_eq!(got, "blur: `radius` is negative (got -1)");
    assert_eq!(words(blur.call(&[]).unwrap_err()), "blur: `image` is missing");
    let got = words(blur.call(&[(&image).into(), 1.5.into()]).unwrap_err());
    assert!(got.contains("`radius` is of another type"), "{got}");
    let many = [(&image).into(), 1i64.into(), 1i64.into()];
    assert_eq!(words(blur.call(&many).unwrap_err()), "blur: it takes 2 arguments (got 3)");
    let readonly = image.as_readonly().unwrap();
    let error = unsafe { brighten.call_writing(&[(&readonly).into()]) }.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ReadOnly);
    unsafe extern "C" fn nothing(_: *mut c_void, _: *const sys::dlx_argument) -> i32 {
        0
    }
    for text in ["blur(image: uint9[h])", "blur\0()"] {
        let error = unsafe { Function::new(nothing, text) }.unwrap_err();
        assert_eq!(error.code(), ErrorCode::InvalidArgument);
    }
}

#[test]
fn texts_and_flags_arrive() {
    unsafe extern "C" fn check(_: *mut c_void, arguments: *const sys::dlx_argument) -> i32 {
        let arguments = std::slice::from_raw_parts(arguments, 4);
        let text = std::ffi::CStr::from_ptr(arguments[0].text);
        let is = arguments[1].integer == 1 && arguments[2].array.is_null();
        i32::from(text.to_str() != Ok("grün") || !is || arguments[3].integer != 3)
    }
    let contract = "check(name: str, on: bool, x: any[...] = None, n: int8 = 3)";
    let check = unsafe { Function::new(check, contract) }.unwrap();
    check.call(&["grün".into(), true.into()]).unwrap();
    check.call(&["grün".into(), true.into(), dlx::Argument::Default]).unwrap();
    let error = check.call(&["grau".into(), true.into()]).unwrap_err();
    assert_eq!(error.message(), "check: it returned the status 1");
    let threads: Vec<_> = std::thread::scope(|scope| {
        let run = || check.call(&["grün".into(), true.into()]).is_ok();
        (0..4)
            .map(|_| scope.spawn(run))
            .collect::<Vec<_>>()
            .into_iter()
            .map(|t| t.join().unwrap())
            .collect()
    });
    assert!(threads.into_iter().all(|ok| ok));
}
