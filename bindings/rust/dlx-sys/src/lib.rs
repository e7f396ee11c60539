#![doc = include_str!("../README.md")]
#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals)]
// The comments are those of the C headers.
#![allow(rustdoc::broken_intra_doc_links, clippy::all)]

use std::os::raw::{c_char, c_int, c_void};

include!("generated.rs");
