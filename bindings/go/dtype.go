package dlx

// #include <dlx/dlx.h>
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"unsafe"
)

// DType is a data type: a DLPack code, the bits of one lane, and lanes.
type DType struct {
	Code  uint8
	Bits  uint8
	Lanes uint16
}

// Element is a Go type that has a dtype.
type Element interface {
	bool | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 |
		float32 | float64 | complex64 | complex128
}

// DTypeOf returns the dtype of a Go type.
func DTypeOf[T Element]() DType {
	var value T
	code := C.kDLInt
	switch any(value).(type) {
	case bool:
		code = C.kDLBool
	case uint8, uint16, uint32, uint64:
		code = C.kDLUInt
	case float32, float64:
		code = C.kDLFloat
	case complex64, complex128:
		code = C.kDLComplex
	}
	return DType{uint8(code), uint8(8 * unsafe.Sizeof(value)), 1}
}

// ParseDType parses a name such as "float32", "bfloat16" or "uint8x4".
func ParseDType(name string) (DType, error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	var out C.DLDataType
	err := check(func() C.dlx_status { return C.dlx_dtype_parse(text, &out) })
	return DType{uint8(out.code), uint8(out.bits), uint16(out.lanes)}, err
}

// String is the name that ParseDType reads.
func (d DType) String() string {
	raw := d.raw()
	var text [C.DLX_NAME_SIZE]C.char
	if C.dlx_dtype_name(&raw, &text[0], C.DLX_NAME_SIZE) != C.DLX_OK {
		return fmt.Sprintf("code %d, bits %d, lanes %d", d.Code, d.Bits, d.Lanes)
	}
	return C.GoString(&text[0])
}

func (d DType) raw() C.DLDataType {
	return C.DLDataType{code: C.uint8_t(d.Code), bits: C.uint8_t(d.Bits), lanes: C.uint16_t(d.Lanes)}
}
