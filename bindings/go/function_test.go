package dlx_test

import (
	"errors"
	"os"
	"reflect"
	"sync"
	"testing"

	"libdlx.example/dlx"
)

const (
	blurContract     = "blur(image: uint8[h, w], radius: int = 1, out: uint8[h, w] result)"
	brightenContract = "brighten(image: uint8[h, w] writable strided, factor: float = 1.5)"
)

// filter is a function of examples/filter, whose library DLX_FILTER names.
func filter(t *testing.T, name, contract string) *dlx.Function {
	path := os.Getenv("DLX_FILTER")
	if path == "" {
		t.Skip("no DLX_FILTER")
	}
	f, err := dlx.LoadFunction(path, name, contract)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func image(t *testing.T) *dlx.Tensor {
	pixels := make([]uint8, 12)
	for i := range pixels {
		pixels[i] = uint8(10 * i)
	}
	tensor, err := dlx.FromSlice(pixels, 3, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tensor.Close() })
	return tensor
}

func TestFunctionResults(t *testing.T) {
	blur := filter(t, "filter_blur_packed", blurContract)
	var group sync.WaitGroup
	picture := image(t)
	for i := 0; i < 4; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			results, err := blur.Call(picture)
			if err != nil {
				t.Error(err)
				return
			}
			defer results[0].Close()
			got, err := dlx.Values[uint8](results[0])
			want := []uint8{25, 30, 40, 45, 45, 50, 60, 65, 65, 70, 80, 85}
			if err != nil || !reflect.DeepEqual(got, want) || len(results) != 1 {
				t.Error(got, err)
			}
			if _, err := blur.Call(picture, -1); err == nil || err.Error() != "blur: `radius` is negative (got -1)" {
				t.Error(err)
			}
		}()
	}
	group.Wait()
}

func TestFunctionWrites(t *testing.T) {
	brighten := filter(t, "filter_brighten_packed", brightenContract)
	picture := image(t)
	column, err := picture.Slice(1, 3, dlx.Open, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer column.Close()
	if results, err := brighten.Call(column, 2.0); err != nil || len(results) != 0 {
		t.Fatal(results, err)
	}
	if got, err := dlx.At[uint8](picture, 2, 3); err != nil || got != 220 {
		t.Fatal(got, err)
	}
	fixed, err := picture.AsReadOnly()
	if err != nil {
		t.Fatal(err)
	}
	defer fixed.Close()
	if _, err := brighten.Call(fixed); !errors.Is(err, dlx.ErrReadOnly) {
		t.Fatal(err)
	}
}

func TestFunctionRefusals(t *testing.T) {
	blur := filter(t, "filter_blur_packed", blurContract)
	picture := image(t)
	flat, err := picture.Reshape([]int{12}, dlx.CopyNever)
	if err != nil {
		t.Fatal(err)
	}
	defer flat.Close()
	closed := image(t)
	closed.Close()
	if _, err := blur.Call(closed); !errors.Is(err, dlx.ErrClosed) {
		t.Error(err)
	}
	for want, arguments := range map[string][]any{
		"blur: `image` must have 2 axes, uint8[h, w] (got 1, shape (12,))": {flat},
		"blur: `image` is missing":                        {},
		"blur: it takes 2 arguments (got 3)":              {picture, 1, 1},
		"blur: `radius` is of another type (got float64)": {picture, 1.0},
		"blur: `image` is of another type (got string)":   {"picture"},
	} {
		_, err := blur.Call(arguments...)
		if !errors.Is(err, dlx.ErrInvalidArgument) || err.Error() != want {
			t.Errorf("%v, expected %s", err, want)
		}
	}
	if _, err := blur.Call(picture, nil); err != nil {
		t.Error(err)
	}
	for _, words := range [][3]string{
		{os.Getenv("DLX_FILTER"), "no_such_symbol", "f()"},
		{"/no/such/library.so", "f", "f()"},
		{os.Getenv("DLX_FILTER"), "filter_blur_packed", "blur(image: uint9[h])"},
	} {
		if _, err := dlx.LoadFunction(words[0], words[1], words[2]); !errors.Is(err, dlx.ErrInvalidArgument) {
			t.Error(words, err)
		}
	}
}
