// Prints the nanoseconds of an exchange and of a copy.
package main

import (
	"fmt"
	"time"

	"libdlx.example/dlx"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func best(count int, call func()) int64 {
	least := int64(1 << 62)
	for round := 0; round < 6; round++ {
		start := time.Now()
		for i := 0; i < count; i++ {
			call()
		}
		if each := time.Since(start).Nanoseconds() / int64(count); each < least {
			least = each
		}
	}
	return least
}

func main() {
	whole := must(dlx.Empty(dlx.DTypeOf[float32](), dlx.Host, 512, 512))
	columns := must(whole.Transpose())
	packed := must(dlx.Empty(dlx.DTypeOf[float32](), dlx.Host, 512, 512))
	small := must(dlx.Empty(dlx.DTypeOf[float32](), dlx.Host, 2, 3))
	memory := dlx.Memory{Data: small.Pointer(), DType: dlx.DTypeOf[float32](), Shape: []int{2, 3}}
	exchange := best(100000, func() {
		tensor := must(dlx.Wrap(memory))
		dlx.DeleteDLPack(must(tensor.ToDLPack()))
		tensor.Close()
	})
	copied := best(200, func() {
		if err := packed.CopyFrom(columns); err != nil {
			panic(err)
		}
	})
	small.Close()
	fmt.Println(exchange, copied)
}
