package dlx_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"libdlx.example/dlx"
	"libdlx.example/dlx/internal/foreign"
)

// numbers reads a list of numbers; "-" is empty.
func numbers(word string) []int {
	values := []int{}
	if word == "-" {
		return values
	}
	for _, part := range strings.Split(word, ",") {
		value, err := strconv.Atoi(part)
		if err != nil {
			panic(err)
		}
		values = append(values, value)
	}
	return values
}

func number(word string) int { return numbers(word)[0] }

func list(values []int) string {
	if len(values) == 0 {
		return "-"
	}
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(values), "[]"), " ", ",")
}

func bytesOf(word string) []byte {
	data, err := hex.DecodeString(strings.TrimPrefix(word, "-"))
	if err != nil {
		panic(err)
	}
	return data
}

func open(word string) int {
	if word == "_" {
		return dlx.Open
	}
	return number(word)
}

func tensor(dtype, shape, data string) (*dlx.Tensor, error) {
	d, err := dlx.ParseDType(dtype)
	if err != nil {
		return nil, err
	}
	return dlx.FromBytes(bytesOf(data), d, numbers(shape)...)
}

func wrap(dtype, shape, strides, start, data string) (*dlx.Tensor, error) {
	d, err := dlx.ParseDType(dtype)
	if err != nil {
		return nil, err
	}
	memory := foreign.Malloc(bytesOf(data))
	return dlx.Wrap(dlx.Memory{
		Data: add(memory, number(start)), DType: d, Shape: numbers(shape), Strides: numbers(strides),
		Release: func() { foreign.Free(memory) },
	})
}

func has(words []string, word string) bool {
	return strings.Contains(" "+strings.Join(words, " ")+" ", " "+word+" ")
}

func how(words []string) (dlx.Order, dlx.CopyMode) {
	order, mode := dlx.RowMajor, dlx.CopyIfNeeded
	if has(words, "F") {
		order = dlx.ColumnMajor
	}
	if has(words, "never") {
		mode = dlx.CopyNever
	}
	return order, mode
}

func step(t *dlx.Tensor, verb string, w []string) (*dlx.Tensor, error) {
	switch verb {
	case "tensor":
		return tensor(w[0], w[1], w[2])
	case "wrap":
		return wrap(w[0], w[1], w[2], w[3], w[4])
	case "foreign":
		return dlx.FromDLPack(foreign.Managed(w[0], numbers(w[1])...))
	case "permute":
		if len(w) == 0 {
			return t.Transpose()
		}
		return t.Permute(numbers(w[0])...)
	case "slice":
		return t.Slice(number(w[0]), open(w[1]), open(w[2]), open(w[3]))
	case "select":
		return t.Select(number(w[0]), number(w[1]))
	case "squeeze":
		return t.Squeeze(numbers(strings.Join(append(w, "-")[:1], ""))...)
	case "expand_dims":
		return t.ExpandDims(number(w[0]))
	case "broadcast_to":
		return t.BroadcastTo(numbers(w[0])...)
	case "bitcast":
		d, err := dlx.ParseDType(w[0])
		if err != nil {
			return nil, err
		}
		return t.Bitcast(d)
	case "as_readonly":
		return t.AsReadOnly()
	case "contiguous":
		return t.Contiguous(how(w))
	case "clone":
		return t.Copy()
	case "reshape":
		_, mode := how(w)
		return t.Reshape(numbers(w[0]), mode)
	case "to_device":
		d, err := dlx.ParseDevice(w[0])
		if err != nil {
			return nil, err
		}
		return t.ToDevice(d)
	case "dlpack":
		managed, err := t.ToDLPack()
		if err != nil {
			return nil, err
		}
		return dlx.FromDLPack(managed)
	case "legacy":
		managed, err := t.ToLegacyDLPack()
		if err != nil {
			return nil, err
		}
		return dlx.FromLegacyDLPack(managed)
	case "copy_from":
		source, err := tensor(w[0], w[1], w[2])
		if err != nil {
			return nil, err
		}
		defer source.Close()
		if err := t.CopyFrom(source); err != nil {
			return nil, err
		}
		return t.Clone()
	}
	panic("no operation " + verb)
}

func failure(err error) []string {
	var e *dlx.Error
	if !errors.As(err, &e) {
		return []string{err.Error()}
	}
	return []string{fmt.Sprintf("error %d %s", int32(e.Code), e.Message)}
}

// outcome is what the operations of a case lead to.
func outcome(operations []string) []string {
	var t *dlx.Tensor
	for _, line := range operations {
		words := strings.Split(line, " ")
		switch words[0] {
		case "parse_dtype":
			d, err := dlx.ParseDType(words[1])
			if err != nil {
				return failure(err)
			}
			return []string{fmt.Sprintf("is %d %d %d %v", d.Code, d.Bits, d.Lanes, d)}
		case "parse_device":
			d, err := dlx.ParseDevice(words[1])
			if err != nil {
				return failure(err)
			}
			return []string{fmt.Sprintf("is %d %d %v", d.Type, d.ID, d)}
		}
		made, err := step(t, words[0], words[1:])
		t.Close() // the view keeps the memory
		if err != nil {
			return failure(err)
		}
		t = made
	}
	defer t.Close()
	data, err := t.Bytes()
	if err != nil {
		return failure(err)
	}
	readonly, digits := 0, hex.EncodeToString(data)
	if t.ReadOnly() {
		readonly = 1
	}
	if digits == "" {
		digits = "-"
	}
	return []string{
		fmt.Sprint("dtype ", t.DType()), "shape " + list(t.Shape()), "strides " + list(t.Strides()),
		fmt.Sprint("readonly ", readonly), "bytes " + digits,
	}
}

func TestConformance(t *testing.T) {
	path := os.Getenv("DLX_CONFORMANCE")
	if path == "" {
		path = "../conformance/cases.txt"
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Skip(err)
	}
	expected := []string{"dtype", "shape", "strides", "readonly", "bytes", "is", "error"}
	before, foreigners := foreign.Deleted(), 0
	for _, part := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		lines := strings.Split(part, "\n")
		if !strings.HasPrefix(lines[0], "case ") {
			continue
		}
		var operations, checks []string
		for _, line := range lines[1:] {
			if has(expected, strings.SplitN(line, " ", 2)[0]) {
				checks = append(checks, line)
			} else {
				operations = append(operations, line)
			}
		}
		t.Run(lines[0][5:], func(t *testing.T) {
			got := strings.Join(outcome(operations), "\n")
			if want := strings.Join(checks, "\n"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
		if strings.HasPrefix(operations[0], "foreign") {
			foreigners++
		}
	}
	if deleted := foreign.Deleted() - before; deleted != foreigners || foreigners == 0 {
		t.Errorf("%d deleters were called for %d foreign tensors", deleted, foreigners)
	}
}
