package dlx_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"libdlx.example/dlx"
	"libdlx.example/dlx/internal/foreign"
)

func add(memory unsafe.Pointer, bytes int) unsafe.Pointer { return unsafe.Add(memory, bytes) }

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// counted is a tensor (2, 3) of C memory that counts calls of its deleter.
func counted() (*dlx.Tensor, *atomic.Int32) {
	memory, count := foreign.Malloc(make([]byte, 24)), new(atomic.Int32)
	return must(dlx.Wrap(dlx.Memory{
		Data: memory, DType: dlx.DTypeOf[float32](), Shape: []int{2, 3},
		Release: func() { foreign.Free(memory); count.Add(1) },
	})), count
}

func TestTheLastUserFrees(t *testing.T) {
	tensor, count := counted()
	view := must(tensor.Transpose())
	managed := must(view.ToDLPack())
	tensor.Close()
	tensor.Close()
	view.Close()
	if count.Load() != 0 {
		t.Fatal("freed while an export uses it")
	}
	back := must(dlx.FromDLPack(managed))
	back.Close()
	if count.Load() != 1 {
		t.Fatal(count.Load())
	}
}

func TestTheCollectorCloses(t *testing.T) {
	_, count := counted()
	for i := 0; i < 100 && count.Load() == 0; i++ {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	if count.Load() != 1 {
		t.Fatal(count.Load())
	}
}

func TestFromSlice(t *testing.T) {
	values := []int16{1, 2, 3, 4, 5, 6}
	tensor := must(dlx.FromSlice(values, 3, 2))
	defer tensor.Close()
	if shared := tensor.Pointer() == unsafe.Pointer(&values[0]); shared != dlx.SharesSlices {
		t.Fatal(shared)
	}
	for i := 0; i < 5; i++ {
		runtime.GC()
	}
	columns := must(tensor.Transpose())
	if got := fmt.Sprint(must(dlx.Values[int16](columns))); got != "[1 3 5 2 4 6]" {
		t.Fatal(got)
	}
	if must(dlx.At[int16](columns, 1, 2)) != 6 {
		t.Fatal("At")
	}
	if err := dlx.SetAt[int16](columns, 9, 1, 2); err != nil {
		t.Fatal(err)
	}
	err := dlx.Read(tensor, func(values []int16) error {
		if values[5] != 9 || unsafe.Pointer(&values[0]) != tensor.Pointer() {
			return errors.New("a copy")
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestClosed(t *testing.T) {
	tensor, _ := counted()
	tensor.Close()
	var none *dlx.Tensor
	for _, x := range []*dlx.Tensor{tensor, none} {
		_, err := x.Transpose()
		_, export := x.ToDLPack()
		_, at := dlx.At[float32](x, 0, 0)
		for _, err := range []error{err, export, at, x.Synchronize(), x.CopyFrom(tensor)} {
			if !errors.Is(err, dlx.ErrClosed) {
				t.Fatal(err)
			}
		}
	}
	if tensor.Pointer() != nil || none.String() == "" || tensor.IsContiguous(dlx.RowMajor) {
		t.Fatal("not closed")
	}
}

func TestReadersMayClose(t *testing.T) {
	tensor, count := counted()
	err := dlx.Read(tensor, func([]float32) error {
		go tensor.Close() // waits for the lock, which a call below must not need for reading
		for tensor.Pointer() != nil {
			runtime.Gosched()
		}
		if count.Load() != 0 {
			t.Error("freed while it is lent")
		}
		return tensor.Close()
	})
	if err != nil || count.Load() != 1 {
		t.Fatal(err, count.Load())
	}
}

func TestBadInput(t *testing.T) {
	tensor, _ := counted()
	defer tensor.Close()
	readonly := must(tensor.AsReadOnly())
	columns := must(tensor.Transpose())
	_, wrong := dlx.At[float64](tensor, 0, 0)
	_, index := dlx.At[float32](tensor, 2, 0)
	_, few := dlx.At[float32](tensor, 0)
	_, axes := tensor.Permute(0)
	_, far := tensor.Select(1<<40, 0)
	_, none := dlx.FromDLPack(nil)
	_, shape := dlx.FromSlice([]int8{1, 2, 3}, 2, 2)
	_, size := dlx.FromBytes([]byte{1}, dlx.DTypeOf[int16](), 1)
	_, strides := dlx.Wrap(dlx.Memory{DType: dlx.DTypeOf[int8](), Shape: []int{1}, Strides: []int{1, 1}})
	_, data := dlx.Wrap(dlx.Memory{DType: dlx.DTypeOf[int8](), Shape: []int{1}, Release: func() { t.Error("called") }})
	_, refused := columns.Contiguous(dlx.RowMajor, dlx.CopyNever)
	packed := dlx.Read(columns, func([]float32) error { return nil })
	for i, err := range []error{wrong, index, few, axes, far, none, shape, size, strides, data, packed} {
		if !errors.Is(err, dlx.ErrInvalidArgument) {
			t.Errorf("%d: %v", i, err)
		}
	}
	if err := dlx.SetAt[float32](readonly, 1, 0, 0); !errors.Is(err, dlx.ErrReadOnly) {
		t.Error(err)
	}
	if !errors.Is(refused, dlx.ErrCopyRefused) || errors.Is(refused, dlx.ErrReadOnly) {
		t.Error(refused)
	}
}

func TestGoroutines(t *testing.T) {
	tensor, count := counted()
	var group sync.WaitGroup
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			for j := 0; j < 200; j++ {
				row, err := tensor.Select(0, i%2)
				if errors.Is(err, dlx.ErrClosed) {
					return
				}
				row.Close()
				_, err = tensor.Select(0, 100+i)
				if !errors.Is(err, dlx.ErrClosed) && !strings.Contains(err.Error(), fmt.Sprintf("got %d", 100+i)) {
					t.Error(err)
				}
				runtime.Gosched()
			}
		}(i)
	}
	time.Sleep(2 * time.Millisecond)
	tensor.Close() // while others use it
	group.Wait()
	if count.Load() != 1 {
		t.Fatal(count.Load())
	}
}

func TestDevices(t *testing.T) {
	if dlx.CPU.Count() != 1 || dlx.CPU.Reason() != "" || dlx.CUDA.Count() == 0 && dlx.CUDA.Reason() == "" {
		t.Fatal("devices")
	}
	tensor, _ := counted()
	defer tensor.Close()
	same := must(tensor.ToDevice(dlx.Host))
	if same.Pointer() != tensor.Pointer() || same.String() != "Tensor(float32, [2 3], cpu)" {
		t.Fatal(same)
	}
}

// BenchmarkExchange is wrap, export, import and release of a small tensor.
func BenchmarkExchange(b *testing.B) {
	memory := foreign.Malloc(make([]byte, 24))
	defer foreign.Free(memory)
	for i := 0; i < b.N; i++ {
		t := must(dlx.Wrap(dlx.Memory{Data: memory, DType: dlx.DTypeOf[float32](), Shape: []int{2, 3}}))
		dlx.DeleteDLPack(must(t.ToDLPack()))
		t.Close()
	}
}

// BenchmarkCopy is a strided copy of 1 MB.
func BenchmarkCopy(b *testing.B) {
	t := must(dlx.Empty(dlx.DTypeOf[float32](), dlx.Host, 512, 512))
	columns := must(t.Transpose())
	to := must(dlx.Empty(dlx.DTypeOf[float32](), dlx.Host, 512, 512))
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		if err := to.CopyFrom(columns); err != nil {
			b.Fatal(err)
		}
	}
}
