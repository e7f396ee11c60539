use std::ffi::{CStr, CString};
use std::os::raw::c_void;
#[cfg(unix)]
use std::os::raw::{c_char, c_int};
use std::ptr::{self, NonNull};

use crate::dtype::c_text;
use crate::error::check;
use crate::{sys, Error, Result, Tensor};

#[cfg(unix)]
const RTLD_NOW: c_int = 2;

#[cfg(unix)]
extern "C" {
    fn dlopen(path: *const c_char, mode: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
}

/// An argument of a [`Function`].
#[derive(Clone, Copy, Debug)]
pub enum Argument<'a> {
    /// For an array of the contract.
    Tensor(&'a Tensor),
    /// For an `int`, or an integer of another width.
    Int(i64),
    /// For a `float`.
    Float(f64),
    /// For a `bool`.
    Bool(bool),
    /// For a `str`.
    Text(&'a str),
    /// The contract's default.
    Default,
}

macro_rules! from {
    ($($kind:ident: $type:ty),*) => {$(
        impl<'a> From<$type> for Argument<'a> {
            fn from(value: $type) -> Self {
                Self::$kind(value)
            }
        }
    )*};
}
from!(Tensor: &'a Tensor, Int: i64, Float: f64, Bool: bool, Text: &'a str);

/// A parameter of a contract.
struct Parameter {
    name: String,
    kind: i32,
    flags: i32,
    default: sys::dlx_argument,
}

impl Parameter {
    fn has(&self, flag: i32) -> bool {
        self.flags & flag != 0
    }

    /// Whether a caller passes it.
    fn is_passed(&self) -> bool {
        !self.has(sys::DLX_PARAMETER_RESULT) && self.kind != sys::DLX_PARAMETER_STREAM
    }
}

/// A function of C that takes the tensors that fit its contract (`dlx/call.h`). Any thread may call it.
pub struct Function {
    contract: NonNull<sys::dlx_contract>,
    function: sys::dlx_function,
    parameters: Vec<Parameter>,
}

// A contract never changes, and `new` demands that the function may run on any thread. The defaults
// are numbers and texts of the contract.
unsafe impl Send for Function {}
unsafe impl Sync for Function {}

impl Function {
    /// A function and its contract, such as `"blur(image: uint8[h, w], out: uint8[h, w] result)"`.
    ///
    /// # Safety
    ///
    /// The function fits the contract, writes the arrays only that the contract calls `writable` or
    /// `result`, initialises the results, and may run on any thread.
    pub unsafe fn new(function: sys::dlx_function, contract: &str) -> Result<Self> {
        let text = c_text(contract, "contract")?;
        let mut made = ptr::null_mut();
        check(sys::dlx_contract_create(text.as_ptr(), &mut made))?;
        let contract = NonNull::new(made).ok_or_else(|| Error::invalid("dlx: no contract"))?;
        let mut this = Self { contract, function, parameters: Vec::new() };
        for index in 0..sys::dlx_contract_count(made) {
            this.parameters.push(this.parameter(index)?);
        }
        Ok(this)
    }

    /// A function of a shared library, which stays loaded.
    ///
    /// # Safety
    ///
    /// As for [`new`](Function::new); the library's initialisers run.
    #[cfg(unix)]
    pub unsafe fn load(library: &str, name: &str, contract: &str) -> Result<Self> {
        let (path, symbol) = (c_text(library, "library")?, c_text(name, "name")?);
        let loaded = dlopen(path.as_ptr(), RTLD_NOW);
        let address = match loaded.is_null() {
            true => loaded,
            false => dlsym(loaded, symbol.as_ptr()),
        };
        if address.is_null() {
            let words = CStr::from_ptr(dlerror()).to_string_lossy();
            return Err(Error::invalid(format!("dlx::Function::load: {words}")));
        }
        Self::new(std::mem::transmute::<*mut c_void, sys::dlx_function>(address), contract)
    }

    fn parameter(&self, index: i32) -> Result<Parameter> {
        let mut raw: sys::dlx_parameter = unsafe { std::mem::zeroed() };
        raw.struct_size = std::mem::size_of::<sys::dlx_parameter>() as u32;
        check(unsafe { sys::dlx_contract_parameter(self.contract.as_ptr(), index, &mut raw) })?;
        let name = unsafe { CStr::from_ptr(raw.name) }.to_string_lossy().into_owned();
        let flags = raw.flags as i32;
        Ok(Parameter { name, kind: raw.kind, flags, default: raw.default_value })
    }

    /// The name of the function in its contract.
    pub fn name(&self) -> String {
        let name = unsafe { CStr::from_ptr(sys::dlx_contract_name(self.contract.as_ptr())) };
        name.to_string_lossy().into_owned()
    }

    /// Calls the function; the results are those of the contract. Fails for a function that writes an
    /// argument: see [`call_writing`](Function::call_writing).
    pub fn call(&self, arguments: &[Argument]) -> Result<Vec<Tensor>> {
        let writes = |p: &&Parameter| p.is_passed() && p.has(sys::DLX_PARAMETER_WRITABLE);
        if let Some(parameter) = self.parameters.iter().find(writes) {
            let words = format!("{} is written: call_writing() is for that", parameter.name);
            return Err(self.wrong(&words));
        }
        unsafe { self.call_writing(arguments) }
    }

    /// The same for a function that writes arguments.
    ///
    /// # Safety
    ///
    /// Nothing else reads or writes the memory of the written arguments during the call, and no view of
    /// it exists.
    pub unsafe fn call_writing(&self, arguments: &[Argument]) -> Result<Vec<Tensor>> {
        let mut tensors = vec![ptr::null_mut(); self.parameters.len()];
        let mut values: Vec<_> = self.parameters.iter().map(|p| p.default).collect();
        let mut texts: Vec<CString> = Vec::new();
        let mut given = arguments.iter();
        for (index, parameter) in self.parameters.iter().enumerate().filter(|p| p.1.is_passed()) {
            let value = &mut values[index];
            match (parameter.kind, given.next().unwrap_or(&Argument::Default)) {
                (_, Argument::Default) if parameter.has(sys::DLX_PARAMETER_OPTIONAL) => {}
                (sys::DLX_PARAMETER_ARRAY, Argument::Tensor(t)) => tensors[index] = t.as_raw(),
                (sys::DLX_PARAMETER_INT, Argument::Int(number)) => value.integer = *number,
                (sys::DLX_PARAMETER_FLOAT, Argument::Float(number)) => value.real = *number,
                (sys::DLX_PARAMETER_BOOL, Argument::Bool(is)) => value.integer = i64::from(*is),
                (sys::DLX_PARAMETER_TEXT, Argument::Text(text)) => {
                    texts.push(c_text(text, &parameter.name)?);
                    value.text = texts[texts.len() - 1].as_ptr();
                }
                (_, Argument::Default) => {
                    return Err(self.wrong(&format!("`{}` is missing", parameter.name)));
                }
                (_, other) => {
                    let words = format!("`{}` is of another type (got {other:?})", parameter.name);
                    return Err(self.wrong(&words));
                }
            }
        }
        if given.next().is_some() {
            let most = self.parameters.iter().filter(|p| p.is_passed()).count();
            let words = format!("it takes {most} arguments (got {})", arguments.len());
            return Err(self.wrong(&words));
        }
        self.run(&mut tensors, &values)
    }

    unsafe fn run(
        &self,
        tensors: &mut [*mut sys::dlx_tensor],
        values: &[sys::dlx_argument],
    ) -> Result<Vec<Tensor>> {
        let is_result = |p: &&Parameter| p.has(sys::DLX_PARAMETER_RESULT);
        let mut out = vec![ptr::null_mut(); self.parameters.iter().filter(is_result).count()];
        check(sys::dlx_contract_call(
            self.contract.as_ptr(),
            Some(self.function),
            ptr::null_mut::<c_void>(),
            tensors.as_mut_ptr(),
            values.as_ptr(),
            out.as_mut_ptr(),
        ))?;
        out.into_iter().map(|owned| Tensor::from_raw(owned)).collect()
    }

    fn wrong(&self, words: &str) -> Error {
        Error::invalid(format!("{}: {words}", self.name()))
    }
}

impl Drop for Function {
    fn drop(&mut self) {
        unsafe { sys::dlx_contract_release(self.contract.as_ptr()) };
    }
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Function({})", self.name())
    }
}
