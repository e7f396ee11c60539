// dlx from Go: share memory by DLPack. The last user frees it. Run: go run .
package main

import (
	"fmt"
	"log"
	"strings"

	"libdlx.example/dlx"
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	matrix := must(dlx.FromSlice([]float32{0, 1, 2, 3, 4, 5}, 2, 3))
	_, err := matrix.Select(0, 9)
	fmt.Println(err)

	columns := must(matrix.Transpose()) // a view
	managed := must(columns.ToDLPack()) // for any library that takes DLPack
	matrix.Close()
	columns.Close() // managed keeps the memory

	taken := must(dlx.FromDLPack(managed))
	defer taken.Close()
	values := must(dlx.Values[float32](taken))
	words := strings.Trim(fmt.Sprint(values), "[]")
	fmt.Printf("(%d, %d): %s\n", taken.Shape()[0], taken.Shape()[1], words)
}
