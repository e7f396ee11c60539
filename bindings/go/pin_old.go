//go:build !go1.21

package dlx

import "unsafe"

// SharesSlices says whether FromSlice shares the memory of the slice.
const SharesSlices = false

func pin(unsafe.Pointer) (release func()) { return nil }
