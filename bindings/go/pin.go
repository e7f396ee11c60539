//go:build go1.21

package dlx

import (
	"runtime"
	"unsafe"
)

// SharesSlices says whether FromSlice shares the memory of the slice.
const SharesSlices = true

func pin(data unsafe.Pointer) (release func()) {
	var pinner runtime.Pinner
	pinner.Pin((*byte)(data))
	return pinner.Unpin
}
