// Package dlx shares tensors between libraries and languages without copies, by DLPack: libdlx for Go.
//
// A Tensor describes memory and has a share in its owner. Views (Slice, Select, Permute …) share the
// memory and keep it alive; the last user frees it. Close drops a tensor at once, the garbage collector
// does it later. A closed tensor returns ErrClosed.
//
// All functions may be called from several goroutines, also on the same tensor, and Close waits for calls
// in progress. Reads and writes of the elements are not synchronised.
//
// The package needs the installed libdlx, which pkg-config must find.
package dlx

// #cgo pkg-config: dlx
// #include <dlx/dlx.h>
import "C"

// Version is the version of the libdlx that is loaded.
func Version() string { return C.GoString(C.dlx_version()) }
