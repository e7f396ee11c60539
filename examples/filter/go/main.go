// The filters called from Go. Run: go run . ../libfilter.so
package main

import (
	"fmt"
	"log"
	"os"
	"strings"

	"libdlx.example/dlx"
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func words(t *dlx.Tensor) string {
	return strings.Trim(fmt.Sprint(must(dlx.Values[uint8](t))), "[]")
}

func main() {
	path := os.Args[1]
	// As filter.h has them.
	blur := must(dlx.LoadFunction(path, "filter_blur_packed",
		"blur(image: uint8[h, w], radius: int = 1, out: uint8[h, w] result)"))
	brighten := must(dlx.LoadFunction(path, "filter_brighten_packed",
		"brighten(image: uint8[h, w] writable strided, factor: float = 1.5)"))

	pixels := make([]uint8, 12)
	for i := range pixels {
		pixels[i] = uint8(10 * i)
	}
	image := must(dlx.FromSlice(pixels, 3, 4))
	defer image.Close()
	blurred := must(blur.Call(image))[0]
	fmt.Println(words(blurred))
	column := must(image.Slice(1, 3, dlx.Open, 1)) // the last column, in place
	defer column.Close()
	must(brighten.Call(column))
	fmt.Println(words(image))

	flat := must(image.Reshape([]int{12}, dlx.CopyNever))
	defer flat.Close()
	_, err := blur.Call(flat)
	fmt.Println(err)
	_, err = blur.Call(image, -1)
	fmt.Println(err)

	managed := must(blurred.ToDLPack()) // for any library that takes DLPack
	blurred.Close()                     // managed keeps the memory
	taken := must(dlx.FromDLPack(managed))
	defer taken.Close()
	row := must(taken.Select(0, 0))
	defer row.Close()
	fmt.Printf("(%d, %d): %s\n", taken.Shape()[0], taken.Shape()[1], words(row))
}
