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

// Callers finds the lines of kernel code that call into this package, for the op log and for
// reports of deadlocks. A machine has one, which remembers all return addresses met so far.
// It is not for goroutines that run at the same time.
type Callers struct{ sites map[uintptr]site }

// Line returns the innermost frame outside of this package, as "matmul.go:41". A machine calls
// it from its methods. The line is "" where no kernel is running.
func (c *Callers) Line() string {
	var pcs [5]uintptr // as many as a machine and this package usually have, and the kernel
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

// site is what Callers knows of a return address.
type site struct {
	line   string
	tl     bool // in this package
	passed bool // in this package, a transport, or the runtime running a deferred call
}

// transport begins the names of functions that stand for Send and Recv of this package: the
// line of the kernel that calls them is the one wanted.
const transport = "github.com/kernbench/kernbench/ccl.(*Transport)."

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

// Printf shows a line of text to the user, after the PE and its time:
//
//	[sip0.cube0.pe3 1.25µs] row 7
//
// A tile prints as its shape and dtype. Its elements are Values.
func (t *PE) Printf(format string, args ...any) {
	text := strings.TrimSuffix(fmt.Sprintf(format, args...), "\n")
	t.m.Print("[" + t.place.Name + " " + timeText(t.m.Now()) + "] " + text)
}

// Assert stops the launch unless cond holds, for the reason that the text gives.
func (t *PE) Assert(cond bool, format string, args ...any) {
	if !cond {
		panic(t.fail("Assert", "", fmt.Errorf(format, args...)))
	}
}

// timeText is a time to the last digit in the unit that suits it.
func timeText(at simtime.Time) string {
	if at < simtime.Microsecond {
		return at.String()
	}
	return strconv.FormatFloat(float64(at)/float64(simtime.Microsecond), 'f', -1, 64) + "µs"
}

// Error says what a kernel did wrong and where: operations panic with an *Error,
// which stops the launch. Err is the reason, of this package or of the machine.
type Error struct {
	Kernel string // name of the launch
	PE     string // "sip0.cube5.pe3"
	Op     string // "Dot"
	Shapes string // the operands: "[32 64] f16, [32 64] f16"
	Line   string // of the kernel: "matmul.go:41"
	Err    error
}

// Error is all of it in one line. Kernel and PE are missing where only a zero Tile
// or a pointer was at hand.
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

// Unwrap gives the reason.
func (e *Error) Unwrap() error { return e.Err }

// misuse makes an Error where no PE is at hand.
func misuse(op, operands string, err error) *Error {
	return &Error{Op: op, Shapes: operands, Line: new(Callers).Line(), Err: err}
}

// fail makes an Error to panic with. The PE is nil where all there was is a zero
// Tile.
//
// Operands come as text and reasons are made of text and numbers, never of tiles
// or of the kernel's slices, which would then live on the heap in every call that
// succeeds.
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

// Binding is a kernel with the arguments of a launch. Launches make it; a kernel is
// given what is in it.
type Binding struct {
	fn   reflect.Value
	args []reflect.Value // without the PE; those of tensors are filled in by Call
	at   []int           // which argument each tensor is
}

var (
	peType  = reflect.TypeFor[*PE]()
	ptrType = reflect.TypeFor[Ptr]()
)

// Bind checks that a kernel takes the arguments, of which those of type T are
// tensors: they go to parameters of type Ptr, numbers to parameters of their kind.
// The tensors come back in order.
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
			tensors, b.at = append(tensors, x), append(b.at, i)
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

// convert is a value as a parameter's type: the same, or a number that does not
// change by it.
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
		in[1+b.at[i]] = reflect.ValueOf(p)
	}
	b.fn.Call(in)
}
