package tl

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/simtime"
)

// Callers finds the lines of kernel code that call into this package, for the op log and
// for reports of deadlocks. Each machine has its own Callers, which caches return
// addresses. Two goroutines must not use one Callers at the same time.
type Callers struct{ sites map[uintptr]site }

// Line returns the line of the kernel that called the current operation of this package,
// such as "matmul.go:41". A machine calls Line from its methods. Line returns "" if no
// kernel is running.
func (c *Callers) Line() string {
	var pcs [5]uintptr // usually enough frames for the machine, this package and the kernel
	inside := false
	for skip := 2; ; skip += len(pcs) {
		n := runtime.Callers(skip, pcs[:])
		for _, pc := range pcs[:n] {
			s := c.site(pc)
			if !s.passed && inside {
				return s.line
			}
			inside = inside || s.tl
		}
		if n < len(pcs) {
			return ""
		}
	}
}

// site is the cached description of a return address.
type site struct {
	line   string
	tl     bool // in this package
	passed bool // not kernel code: in this package, a transport, or the runtime in a deferred call
}

// transport is the prefix of functions that kernels call in place of Send and Recv. Line
// skips them and returns the line of the kernel that calls them.
const transport = "github.com/kernbench/kernbench/ccl.(*Transport)."

// site returns the description of a return address, from the cache if it is there.
func (c *Callers) site(pc uintptr) site {
	if s, ok := c.sites[pc]; ok {
		return s
	}
	frame, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	s := site{line: filepath.Base(frame.File) + ":" + strconv.Itoa(frame.Line)}
	s.tl = strings.HasPrefix(frame.Function, "github.com/kernbench/kernbench/tl.")
	s.passed = s.tl || strings.HasPrefix(frame.Function, "runtime.") || strings.HasPrefix(frame.Function, transport)
	if c.sites == nil {
		c.sites = map[uintptr]site{}
	}
	c.sites[pc] = s
	return s
}

// Printf prints a line of text for the user, after the name of the PE and its time:
//
//	[sip0.cube0.pe3 1.25µs] row 7
//
// A tile prints as its shape and dtype. [Tile.Values] returns the elements of a tile.
func (t *PE) Printf(format string, args ...any) {
	text := strings.TrimSuffix(fmt.Sprintf(format, args...), "\n")
	t.m.Print("[" + t.place.Name + " " + timeText(t.m.Now()) + "] " + text)
}

// Assert stops the launch unless cond holds. The text of the error is formatted from
// `format` and args.
func (t *PE) Assert(cond bool, format string, args ...any) {
	if !cond {
		panic(t.fail("Assert", "", fmt.Errorf(format, args...)))
	}
}

// timeText formats a time with all digits. A time below a microsecond has the format of
// [simtime.Time]; any other time is in microseconds.
func timeText(at simtime.Time) string {
	if at < simtime.Microsecond {
		return at.String()
	}
	return strconv.FormatFloat(float64(at)/float64(simtime.Microsecond), 'f', -1, 64) + "µs"
}

// Error is the error of a kernel: what went wrong and where. Operations panic with an
// *Error, which stops the launch. Err is the reason, from this package or the machine.
type Error struct {
	Kernel string // name of the launch
	PE     string // "sip0.cube5.pe3"
	Op     string // "Dot"
	Shapes string // the operands: "[32 64] f16, [32 64] f16"
	Line   string // the line of the kernel: "matmul.go:41"
	Err    error
}

// Error formats all fields in one line. It leaves out Kernel and PE if they are not known:
// an operation on only a zero Tile or a pointer belongs to no PE.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Kernel != "" {
		b.WriteString("kernel " + e.Kernel + " on " + e.PE + ": ")
	}
	b.WriteString(e.Op)
	if e.Shapes != "" {
		b.WriteString("(" + e.Shapes + ")")
	}
	if e.Line != "" {
		b.WriteString(" at " + e.Line)
	}
	return b.String() + ": " + e.Err.Error()
}

// Unwrap returns Err, the reason.
func (e *Error) Unwrap() error { return e.Err }

// misuse returns the Error of an operation on a value that belongs to no PE.
func misuse(op, operands string, err error) *Error {
	return &Error{Op: op, Shapes: operands, Line: new(Callers).Line(), Err: err}
}

// fail returns an Error with the reason err. The caller panics with this Error. t is nil if
// the only tile of the operation is a zero Tile, which belongs to no PE.
//
// Callers pass operands as text, and reasons that contain only text and numbers. Tiles or
// slices of the kernel would escape to the heap in every call, even in a successful one.
func (t *PE) fail(op, operands string, err error) *Error {
	e := misuse(op, operands, err)
	if t != nil {
		e.Kernel, e.PE = t.kernel, t.place.Name
	}
	return e
}

var (
	errZeroTile = errors.New("a zero Tile holds nothing: tiles come from Load, Full, Recv and operations on them")
	errForeign  = errors.New("the tile was made by another PE or another launch: pass data through queues, windows or memory")
	errPort     = errors.New("no such port: use a name, Child or Numbered")
	errDType    = errors.New("no such dtype: use tl.F16 to tl.U64")
	errRef      = errors.New("a Ref is memory, not data in TCM: Load it first")
)

// Binding is a kernel with the arguments of a launch. Launches create it.
type Binding struct {
	fn         reflect.Value
	args       []reflect.Value // without the PE; Call fills in the pointers to tensors
	tensorArgs []int           // the index in args of each tensor
}

var (
	peType  = reflect.TypeFor[*PE]()
	ptrType = reflect.TypeFor[Ptr]()
)

// Bind checks that the arguments match the parameters of a kernel, and returns a Binding
// that can call the kernel with them. Arguments of type T are tensors, for parameters of
// type Ptr. Numbers are converted to the parameter's type if their value does not change.
// Bind also returns the tensors in order.
func Bind[T any](name string, kernel any, args []any) (*Binding, []T, error) {
	b := &Binding{fn: reflect.ValueOf(kernel)}
	if kernel == nil || b.fn.Kind() == reflect.Func && b.fn.IsNil() {
		return nil, nil, errors.New(name + ": the kernel is nil")
	}
	t := b.fn.Type()
	if t.Kind() != reflect.Func || t.NumIn() == 0 || t.In(0) != peType || t.NumOut() > 0 || t.IsVariadic() {
		return nil, nil, fmt.Errorf("%s is a %v: a kernel is a func(*tl.PE, ...) without results", name, t)
	}
	if t.NumIn()-1 != len(args) {
		return nil, nil, fmt.Errorf("%s takes %d arguments after the PE, and %d are given", name, t.NumIn()-1, len(args))
	}
	var tensors []T
	for i, a := range args {
		want := t.In(i + 1)
		if x, ok := a.(T); ok {
			if want != ptrType {
				return nil, nil, fmt.Errorf("argument %d of %s is a %v, and a tensor is given, which is a tl.Ptr", i+1, name, want)
			}
			tensors, b.tensorArgs = append(tensors, x), append(b.tensorArgs, i)
			b.args = append(b.args, reflect.Value{})
			continue
		}
		v, ok := convert(a, want)
		if !ok {
			return nil, nil, fmt.Errorf("argument %d of %s is a %v, and %v, a %T, is given", i+1, name, want, a, a)
		}
		b.args = append(b.args, v)
	}
	return b, tensors, nil
}

// convert converts a value to a parameter's type. It reports whether this is allowed: the
// value must be assignable to the type, or be a number that the conversion does not change.
func convert(a any, want reflect.Type) (reflect.Value, bool) {
	v := reflect.ValueOf(a)
	if !v.IsValid() {
		return v, false
	}
	if v.Type().AssignableTo(want) {
		return v, true
	}
	isNumber := func(t reflect.Type) bool { return t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64 }
	if !isNumber(v.Type()) || !isNumber(want) {
		return v, false
	}
	out := v.Convert(want)
	back := out.Convert(v.Type())
	negative := func(v reflect.Value) bool { return v.CanInt() && v.Int() < 0 || v.CanFloat() && v.Float() < 0 }
	same := back.Equal(v) && negative(v) == negative(out) && (out.CanFloat() || !v.CanFloat() || v.Float() == math.Trunc(v.Float()))
	return out, same
}

// Call runs the kernel on a PE, with a pointer for each tensor.
func (b *Binding) Call(t *PE, tensors ...Ptr) {
	in := make([]reflect.Value, 0, 1+len(b.args))
	in = append(in, reflect.ValueOf(t))
	in = append(in, b.args...)
	for i, p := range tensors {
		in[1+b.tensorArgs[i]] = reflect.ValueOf(p)
	}
	b.fn.Call(in)
}
