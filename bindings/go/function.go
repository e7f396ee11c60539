package dlx

// #cgo LDFLAGS: -ldl
// #include <dlfcn.h>
// #include <dlx/call.h>
// #include <stdlib.h>
//
// static dlx_function dlx_go_function(void *address) { return (dlx_function)(uintptr_t)address; }
// static void dlx_go_set_int(dlx_argument *values, int32_t i, int64_t value) { values[i].integer = value; }
// static void dlx_go_set_real(dlx_argument *values, int32_t i, double value) { values[i].real = value; }
// static void dlx_go_set_text(dlx_argument *values, int32_t i, const char *value) { values[i].text = value; }
import "C"

import (
	"fmt"
	"runtime"
	"unsafe"
)

// Function is a function of C that takes the tensors that fit its contract (dlx/call.h). Goroutines may
// share it, if the function may run on several threads.
type Function struct {
	contract   *C.dlx_contract
	function   C.dlx_function
	parameters []C.dlx_parameter
	results    int
}

// NewFunction is the function at an address: a dlx_function that fits the contract, such as
// "blur(image: uint8[h, w], out: uint8[h, w] result)". A wrong address crashes, as in C.
func NewFunction(address unsafe.Pointer, contract string) (*Function, error) {
	if address == nil {
		return nil, invalid("dlx.NewFunction: `address` is nil")
	}
	text := C.CString(contract)
	defer C.free(unsafe.Pointer(text))
	f := &Function{function: C.dlx_go_function(address)}
	if err := check(func() C.dlx_status { return C.dlx_contract_create(text, &f.contract) }); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(f, func(f *Function) { C.dlx_contract_release(f.contract) })
	for i := C.int32_t(0); i < C.dlx_contract_count(f.contract); i++ {
		p := C.dlx_parameter{struct_size: C.sizeof_dlx_parameter}
		if err := check(func() C.dlx_status { return C.dlx_contract_parameter(f.contract, i, &p) }); err != nil {
			return nil, err
		}
		f.parameters = append(f.parameters, p)
		if p.flags&C.DLX_PARAMETER_RESULT != 0 {
			f.results++
		}
	}
	return f, nil
}

// LoadFunction is a function of a shared library, which stays loaded.
func LoadFunction(library, name, contract string) (*Function, error) {
	path, symbol := C.CString(library), C.CString(name)
	defer C.free(unsafe.Pointer(path))
	defer C.free(unsafe.Pointer(symbol))
	runtime.LockOSThread() // the words of dlerror belong to the thread
	defer runtime.UnlockOSThread()
	handle := C.dlopen(path, C.RTLD_NOW|C.RTLD_LOCAL)
	if handle == nil {
		return nil, invalid("dlx.LoadFunction: %s", C.GoString(C.dlerror()))
	}
	address := C.dlsym(handle, symbol)
	if address == nil {
		return nil, invalid("dlx.LoadFunction: %s", C.GoString(C.dlerror()))
	}
	return NewFunction(address, contract)
}

// Name is the name of the function in its contract.
func (f *Function) Name() string { return C.GoString(C.dlx_contract_name(f.contract)) }

// Call calls the function: a *Tensor for an array, an int or int64 for a number, a float64, a bool, a string;
// nil is a default. It returns the results of the contract.
func (f *Function) Call(arguments ...any) ([]*Tensor, error) {
	c := call{function: f}
	defer c.free()
	if err := c.read(arguments); err != nil {
		return nil, err
	}
	out := make([]*C.dlx_tensor, f.results+1)
	err := c.hold(0, func() error {
		return check(func() C.dlx_status {
			return C.dlx_contract_call(f.contract, f.function, nil, &c.handles[0], &c.values[0], &out[0])
		})
	})
	runtime.KeepAlive(f)
	if err != nil {
		return nil, err
	}
	results := make([]*Tensor, f.results)
	for i := range results {
		results[i] = adopt(out[i])
	}
	return results, nil
}

// call has the arguments of one call, as C gets them.
type call struct {
	function *Function
	tensors  []*Tensor
	handles  []*C.dlx_tensor
	values   []C.dlx_argument
	texts    []*C.char
}

func (c *call) free() {
	for _, text := range c.texts {
		C.free(unsafe.Pointer(text))
	}
}

func (c *call) wrong(format string, values ...any) error {
	return invalid("%s: %s", c.function.Name(), fmt.Sprintf(format, values...))
}

func (c *call) read(arguments []any) error {
	count := len(c.function.parameters)
	c.tensors = make([]*Tensor, count)
	c.handles = make([]*C.dlx_tensor, count+1) // at least one, so that it has an address
	c.values = make([]C.dlx_argument, count+1)
	next := 0
	for i, p := range c.function.parameters {
		if p.flags&C.DLX_PARAMETER_RESULT != 0 || p.kind == C.DLX_PARAMETER_STREAM {
			continue
		}
		var argument any
		if next < len(arguments) {
			argument = arguments[next]
		}
		next++
		if argument != nil {
			if err := c.put(i, p, argument); err != nil {
				return err
			}
		} else if p.flags&C.DLX_PARAMETER_OPTIONAL != 0 {
			c.values[i] = p.default_value
		} else {
			return c.wrong("`%s` is missing", C.GoString(p.name))
		}
	}
	if len(arguments) > next {
		return c.wrong("it takes %d arguments (got %d)", next, len(arguments))
	}
	return nil
}

func (c *call) put(i int, p C.dlx_parameter, argument any) error {
	at := C.int32_t(i)
	switch value := argument.(type) {
	case *Tensor:
		if p.kind == C.DLX_PARAMETER_ARRAY {
			c.tensors[i] = value
			return nil
		}
	case int:
		if p.kind == C.DLX_PARAMETER_INT {
			C.dlx_go_set_int(&c.values[0], at, C.int64_t(value))
			return nil
		}
	case int64:
		if p.kind == C.DLX_PARAMETER_INT {
			C.dlx_go_set_int(&c.values[0], at, C.int64_t(value))
			return nil
		}
	case float64:
		if p.kind == C.DLX_PARAMETER_FLOAT {
			C.dlx_go_set_real(&c.values[0], at, C.double(value))
			return nil
		}
	case bool:
		if p.kind == C.DLX_PARAMETER_BOOL {
			if value {
				C.dlx_go_set_int(&c.values[0], at, 1)
			}
			return nil
		}
	case string:
		if p.kind == C.DLX_PARAMETER_TEXT {
			c.texts = append(c.texts, C.CString(value))
			C.dlx_go_set_text(&c.values[0], at, c.texts[len(c.texts)-1])
			return nil
		}
	}
	return c.wrong("`%s` is of another type (got %T)", C.GoString(p.name), argument)
}

// hold runs f while no tensor of the call can be closed.
func (c *call) hold(from int, f func() error) error {
	for i := from; i < len(c.tensors); i++ {
		if t := c.tensors[i]; t != nil {
			return t.use(func(handle *C.dlx_tensor) error {
				c.handles[i] = handle
				return c.hold(i+1, f)
			})
		}
	}
	return f()
}
