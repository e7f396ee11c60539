package dlx_test

import (
	"errors"
	"fmt"
	"log"

	"libdlx.example/dlx"
)

func Example() {
	matrix, err := dlx.FromSlice([]float32{0, 1, 2, 3, 4, 5}, 2, 3)
	if err != nil {
		log.Fatal(err)
	}
	defer matrix.Close()

	columns, err := matrix.Transpose() // a view
	if err != nil {
		log.Fatal(err)
	}
	defer columns.Close()
	corner, _ := dlx.At[float32](columns, 2, 1)
	values, _ := dlx.Values[float32](columns)
	fmt.Println(columns, corner, values)

	_, err = matrix.Select(0, 9)
	fmt.Println(errors.Is(err, dlx.ErrInvalidArgument), err)
	// Output:
	// Tensor(float32, [3 2], cpu) 5 [0 3 1 4 2 5]
	// true dlx_tensor_select: `index` is out of range (got 9 on axis 0, which has 2 elements)
}
