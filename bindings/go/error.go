package dlx

// #include <dlx/dlx.h>
import "C"

import (
	"errors"
	"fmt"
	"runtime"
)

// Code is the kind of a failure.
type Code int32

// The kinds of failures; dlx.h describes them.
const (
	InvalidArgument Code = C.DLX_ERROR_INVALID_ARGUMENT
	OutOfMemory     Code = C.DLX_ERROR_OUT_OF_MEMORY
	Unsupported     Code = C.DLX_ERROR_UNSUPPORTED
	Unavailable     Code = C.DLX_ERROR_UNAVAILABLE
	DriverFailed    Code = C.DLX_ERROR_DRIVER
	ReadOnly        Code = C.DLX_ERROR_READ_ONLY
	CopyRefused     Code = C.DLX_ERROR_COPY_REFUSED
	DeviceRefused   Code = C.DLX_ERROR_DEVICE_REFUSED
	Internal        Code = C.DLX_ERROR_INTERNAL
)

// String is the name in C, such as "DLX_ERROR_READ_ONLY".
func (c Code) String() string { return C.GoString(C.dlx_status_name(C.dlx_status(c))) }

// Error is a failed call: its kind, and dlx's words.
type Error struct {
	Code    Code
	Message string
}

// Error is dlx's message: the function, what is wrong, what came and what was expected.
func (e *Error) Error() string {
	if e.Message == "" {
		return e.Code.String()
	}
	return e.Message
}

// Is says whether target has the same code, so that errors.Is(err, dlx.ErrReadOnly) works.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Message == "" && other.Code == e.Code
}

// Targets for errors.Is.
var (
	ErrInvalidArgument = &Error{Code: InvalidArgument}
	ErrOutOfMemory     = &Error{Code: OutOfMemory}
	ErrUnsupported     = &Error{Code: Unsupported}
	ErrUnavailable     = &Error{Code: Unavailable}
	ErrDriver          = &Error{Code: DriverFailed}
	ErrReadOnly        = &Error{Code: ReadOnly}
	ErrCopyRefused     = &Error{Code: CopyRefused}
	ErrDeviceRefused   = &Error{Code: DeviceRefused}

	// ErrClosed is returned by all methods of a closed tensor.
	ErrClosed = errors.New("dlx: the tensor is closed")
)

func invalid(format string, values ...any) error {
	return &Error{InvalidArgument, fmt.Sprintf(format, values...)}
}

// check runs a call. The message of a failure belongs to the thread, so the goroutine must stay on its
// thread until it has read the message.
func check(call func() C.dlx_status) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	status := call()
	if status == C.DLX_OK {
		return nil
	}
	return &Error{Code(status), C.GoString(C.dlx_last_error())}
}
