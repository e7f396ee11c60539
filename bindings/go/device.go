package dlx

// #include <dlx/dlx.h>
// #include <stdlib.h>
import "C"

import (
	"fmt"
	"unsafe"
)

// DeviceType is a kind of memory, by DLPack's numbers.
type DeviceType int32

// The device types that dlx works with; others are passed on.
const (
	CPU         DeviceType = C.kDLCPU
	CUDA        DeviceType = C.kDLCUDA
	CUDAHost    DeviceType = C.kDLCUDAHost
	CUDAManaged DeviceType = C.kDLCUDAManaged
	OpenCL      DeviceType = C.kDLOpenCL
	ROCm        DeviceType = C.kDLROCM
	ROCmHost    DeviceType = C.kDLROCMHost
)

// Device is one device: its type, and its number among the devices of that type.
type Device struct {
	Type DeviceType
	ID   int32
}

// Host is ordinary host memory.
var Host = Device{Type: CPU}

// ParseDevice parses a name such as "cpu" or "cuda:1".
func ParseDevice(name string) (Device, error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	var kind, id C.int32_t
	err := check(func() C.dlx_status { return C.dlx_device_parse(text, &kind, &id) })
	return Device{DeviceType(kind), int32(id)}, err
}

// String is the name that ParseDevice reads.
func (d Device) String() string {
	var text [C.DLX_NAME_SIZE]C.char
	if C.dlx_device_name(C.int32_t(d.Type), C.int32_t(d.ID), &text[0], C.DLX_NAME_SIZE) != C.DLX_OK {
		return fmt.Sprintf("%d:%d", d.Type, d.ID)
	}
	return C.GoString(&text[0])
}

// Count is the number of devices of this type on this machine.
func (t DeviceType) Count() int { return int(C.dlx_device_count(C.int32_t(t))) }

// Reason says why there is no device of this type; "" if there is one.
func (t DeviceType) Reason() string { return C.GoString(C.dlx_backend_reason(C.int32_t(t))) }

// Synchronize waits until all work that dlx submitted to the device is done.
func (d Device) Synchronize() error {
	return check(func() C.dlx_status {
		return C.dlx_device_synchronize(C.int32_t(d.Type), C.int32_t(d.ID))
	})
}

func (d Device) isHost() bool {
	return d.Type == CPU || d.Type == CUDAHost || d.Type == ROCmHost || d.Type == CUDAManaged
}
