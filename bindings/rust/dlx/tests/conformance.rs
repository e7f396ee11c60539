//! Runs the conformance file (bindings/conformance), which every language runs.

use std::os::raw::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};

use dlx::{sys, Copy, DType, Device, Order, Range, Result, Tensor};

const CASES: &str = include_str!("../../../conformance/cases.txt");
static DELETED: AtomicUsize = AtomicUsize::new(0);

fn numbers<T: std::str::FromStr>(word: &str) -> Vec<T>
where
    T::Err: std::fmt::Debug,
{
    if word == "-" {
        return Vec::new();
    }
    word.split(',').map(|number| number.parse().unwrap()).collect()
}

fn bytes(word: &str) -> Vec<u8> {
    let digits = if word == "-" { "" } else { word };
    (0..digits.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&digits[i..i + 2], 16).unwrap())
        .collect()
}

fn range(start: &str, stop: &str, step: &str) -> Range {
    let step = step.parse().unwrap();
    match (start, stop) {
        ("_", "_") => Range::from(..),
        (start, "_") => Range::from(start.parse().unwrap()..),
        ("_", stop) => Range::from(..stop.parse().unwrap()),
        (start, stop) => Range::from(start.parse().unwrap()..stop.parse().unwrap()),
    }
    .step(step)
}

fn copy(words: &[&str]) -> (Order, Copy) {
    let order = if words.contains(&"F") { Order::F } else { Order::C };
    (order, if words.contains(&"never") { Copy::Never } else { Copy::IfNeeded })
}

/// Memory of Rust with strides; `start` is in bytes.
fn wrap(dtype: &str, shape: &str, strides: &str, start: &str, data: &str) -> Result<Tensor> {
    let (shape, strides, data) = (numbers(shape), numbers(strides), bytes(data));
    let start: usize = start.parse().unwrap();
    match dtype {
        "uint8" => Tensor::from_vec_strided(data, &shape, &strides, start),
        "int16" => {
            let data = data.chunks(2).map(|b| i16::from_le_bytes([b[0], b[1]])).collect();
            Tensor::from_vec_strided::<i16>(data, &shape, &strides, start / 2)
        }
        "float32" => {
            let data = data.chunks(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
            Tensor::from_vec_strided::<f32>(data.collect(), &shape, &strides, start / 4)
        }
        other => panic!("{other}"),
    }
}

struct Foreign {
    managed: sys::DLManagedTensorVersioned,
    shape: Vec<i64>,
    strides: Vec<i64>,
    data: [f32; 6],
}

unsafe extern "C" fn delete(managed: *mut sys::DLManagedTensorVersioned) {
    drop(Box::from_raw((*managed).manager_ctx.cast::<Foreign>()));
    DELETED.fetch_add(1, Ordering::SeqCst);
}

/// A managed tensor of another library, float32 (2, 3), with one field changed.
fn foreign(field: &str, value: &str) -> Result<Tensor> {
    let mut other = Box::new(Foreign {
        managed: unsafe { std::mem::zeroed() },
        shape: if field == "shape" { numbers(value) } else { vec![2, 3] },
        strides: if field == "strides" { numbers(value) } else { vec![3, 1] },
        data: [0., 1., 2., 3., 4., 5.],
    });
    let number = |name: &str, usual: i64| {
        if field == name {
            value.parse::<i64>().unwrap()
        } else {
            usual
        }
    };
    other.managed = sys::DLManagedTensorVersioned {
        version: sys::DLPackVersion { major: number("major", 1) as u32, minor: 0 },
        manager_ctx: (&mut *other as *mut Foreign).cast(),
        deleter: Some(delete),
        flags: number("flags", 0) as u64,
        dl_tensor: sys::DLTensor {
            data: match field {
                "data" => std::ptr::null_mut(),
                _ => other.data.as_mut_ptr().cast::<c_void>(),
            },
            device: sys::DLDevice { device_type: number("device_type", 1) as i32, device_id: 0 },
            ndim: number("ndim", 2) as i32,
            dtype: sys::DLDataType {
                code: number("code", 2) as u8,
                bits: number("bits", 32) as u8,
                lanes: number("lanes", 1) as u16,
            },
            shape: other.shape.as_mut_ptr(),
            strides: other.strides.as_mut_ptr(),
            byte_offset: 0,
        },
    };
    let managed = unsafe { dlx::Managed::from_raw(&mut Box::leak(other).managed) }?;
    Tensor::from_dlpack(managed)
}

fn tensor(dtype: &str, shape: &str, data: &str) -> Result<Tensor> {
    Tensor::from_bytes(&bytes(data), &numbers(shape), dtype.parse()?)
}

fn step(t: Option<Tensor>, words: &[&str]) -> Result<Tensor> {
    match *words {
        ["tensor", dtype, shape, data] => return tensor(dtype, shape, data),
        ["wrap", dtype, shape, strides, start, data] => {
            return wrap(dtype, shape, strides, start, data)
        }
        ["foreign", field, value] => return foreign(field, value),
        _ => {}
    }
    let t = t.expect("a tensor");
    match *words {
        ["permute"] => t.transpose(),
        ["permute", axes] => t.permute(&numbers(axes)),
        ["slice", axis, start, stop, by] => t.slice(axis.parse().unwrap(), range(start, stop, by)),
        ["select", axis, index] => t.select(axis.parse().unwrap(), index.parse().unwrap()),
        ["squeeze"] => t.squeeze(&[]),
        ["squeeze", axis] => t.squeeze(&numbers(axis)),
        ["expand_dims", axis] => t.expand_dims(axis.parse().unwrap()),
        ["broadcast_to", shape] => t.broadcast_to(&numbers(shape)),
        ["bitcast", dtype] => t.bitcast(dtype.parse()?),
        ["as_readonly"] => t.as_readonly(),
        ["contiguous", ref how @ ..] => {
            let (order, copy) = copy(how);
            t.contiguous_as(order, copy)
        }
        ["clone"] => t.copy(),
        ["reshape", shape, ref how @ ..] => t.reshape(&numbers(shape), copy(how).1),
        ["to_device", name] => t.to_device(name.parse()?),
        ["dlpack"] => Tensor::from_dlpack(t.to_dlpack()?),
        ["legacy"] => Tensor::from_legacy_dlpack(t.to_legacy_dlpack()?),
        ["copy_from", dtype, shape, data] => {
            unsafe { t.copy_from(&tensor(dtype, shape, data)?) }?;
            Ok(t)
        }
        _ => panic!("no operation {words:?}"),
    }
}

/// What a line that parses a name leads to.
fn parsed(words: &[&str]) -> Result<String> {
    Ok(match *words {
        ["parse_dtype", name] => {
            let d: DType = name.parse()?;
            format!("is {} {} {} {d}", d.code, d.bits, d.lanes)
        }
        [_, name] => {
            let d: Device = name.parse()?;
            format!("is {} {} {d}", d.kind, d.id)
        }
        _ => panic!("{words:?}"),
    })
}

fn list(values: &[i64]) -> String {
    let words: Vec<_> = values.iter().map(i64::to_string).collect();
    if words.is_empty() {
        "-".into()
    } else {
        words.join(",")
    }
}

fn outcome(operations: &[Vec<&str>]) -> Result<Vec<String>> {
    let mut t = None;
    for words in operations {
        if words[0].starts_with("parse_") {
            return Ok(vec![parsed(words)?]);
        }
        t = Some(step(t, words)?);
    }
    let t = t.unwrap();
    let data: String = t.to_bytes()?.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(vec![
        format!("dtype {}", t.dtype()),
        format!("shape {}", list(t.shape())),
        format!("strides {}", list(t.strides())),
        format!("readonly {}", t.is_readonly() as i32),
        format!("bytes {}", if data.is_empty() { "-" } else { &data }),
    ])
}

#[test]
fn every_case() {
    let expected = ["dtype", "shape", "strides", "readonly", "bytes", "is", "error"];
    let (mut count, mut foreigners) = (0, 0);
    for case in CASES.split("\n\n").filter(|part| part.starts_with("case ")) {
        let lines: Vec<Vec<&str>> = case.lines().skip(1).map(|l| l.split(' ').collect()).collect();
        let (checks, operations): (Vec<_>, Vec<_>) =
            lines.into_iter().partition(|words| expected.contains(&words[0]));
        let got = outcome(&operations).unwrap_or_else(|error| {
            let status = match error.code() {
                dlx::ErrorCode::InvalidArgument => 1,
                dlx::ErrorCode::OutOfMemory => 2,
                dlx::ErrorCode::Unsupported => 3,
                dlx::ErrorCode::Unavailable => 4,
                dlx::ErrorCode::Driver => 5,
                dlx::ErrorCode::ReadOnly => 6,
                dlx::ErrorCode::CopyRefused => 7,
                dlx::ErrorCode::DeviceRefused => 8,
                _ => 255,
            };
            vec![format!("error {status} {error}")]
        });
        let checks: Vec<_> = checks.iter().map(|words| words.join(" ")).collect();
        assert_eq!(got, checks, "{}", case.lines().next().unwrap());
        count += 1;
        foreigners += operations.iter().filter(|words| words[0] == "foreign").count();
    }
    assert!(count > 80, "{count} cases");
    assert_eq!(DELETED.load(Ordering::SeqCst), foreigners, "each deleter runs once");
}
