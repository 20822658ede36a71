package torch

import (
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/tl"
)

// Empty returns a tensor with undefined elements.
func (r *Rank) Empty(dtype DType, shape Shape, options ...TensorOption) (*Tensor, error) {
	return r.allocate("Empty", dtype, shape, options)
}

// Zeros returns a tensor of zeros. Making it copies no data and takes no simulated time.
func (r *Rank) Zeros(dtype DType, shape Shape, options ...TensorOption) (*Tensor, error) {
	x, err := r.allocate("Zeros", dtype, shape, options)
	if err != nil {
		return nil, err
	}
	for _, p := range x.pieces(x.shards) {
		if err := r.m.Clear(p.va, p.bytes); err != nil {
			return nil, fmt.Errorf("%s: %w", x.name, err)
		}
	}
	return x, nil
}

// Full returns a tensor whose elements are all v, rounded to the dtype. The PEs that hold
// the tensor write the elements. In a partial tensor, the first addend is v and the other
// addends are zero.
func (r *Rank) Full(v float64, dtype DType, shape Shape, options ...TensorOption) (*Tensor, error) {
	x, err := r.allocate("Full", dtype, shape, options)
	if err != nil {
		return nil, err
	}
	if err := r.reserveValues("Full", heldWhenWritten, x); err != nil {
		return nil, errors.Join(err, x.Free())
	}
	p := machine.Program{Name: "full", Targets: pesOf(x.shards)}
	shards := x.shards // addends may become copies before the program runs
	p.Body = func(t *tl.PE) {
		s := &shards[t.Rank()]
		value := v
		if s.addend > 0 {
			value = 0
		}
		ptr := x.linearPointer(s.va)
		for at := 0; at < s.elems; at += fillElems {
			n := min(fillElems, s.elems-at)
			t.Store(ptr.Add(at), t.Full(tl.Shape{n}, dtype, value))
		}
	}
	r.s.Enqueue(r.newProgram(&p, []*Tensor{x}, nil))
	return x, nil
}

// fillElems is the number of elements that Full writes at a time.
const fillElems = 1 << 14

// FromSlice returns a tensor with the elements of data, a slice of numbers or bools in
// row-major order. Elements are rounded to a float dtype. For an integer dtype, floats are
// truncated and clamped to the range of the dtype, and integers wrap around. The copy from
// the host takes simulated time. In a partial tensor, the first addend gets the elements
// and the other addends are zero.
func (r *Rank) FromSlice(data any, dtype DType, shape Shape, options ...TensorOption) (*Tensor, error) {
	checkNumbers("FromSlice", data, fmt.Sprintf("shape %v", shape), elems(shape))
	return r.create("FromSlice", dtype, shape, options, func() ([]byte, bool) { return encode(data, dtype), true })
}

// FromFunc returns a tensor whose element i, in row-major order, is f(i). As with
// FromSlice, the elements are converted to the dtype, the copy from the host takes
// simulated time, and only the first addend of a partial tensor gets the elements. In a run
// without values, f is not called and no memory is needed for values.
func (r *Rank) FromFunc(f func(i int) float64, dtype DType, shape Shape, options ...TensorOption) (*Tensor, error) {
	return r.create("FromFunc", dtype, shape, options, func() ([]byte, bool) {
		out := make([]byte, elems(shape)*dtype.Size())
		for i := range elems(shape) {
			numeric.Set(dtype, out, i, f(i))
		}
		return out, true
	})
}

// create returns a new tensor with the bytes that the function `make` returns: see
// copyValues. op is the name of the calling function, for errors.
func (r *Rank) create(op string, dtype DType, shape Shape, options []TensorOption, make func() ([]byte, bool)) (*Tensor, error) {
	x, err := r.allocate(op, dtype, shape, options)
	if err != nil {
		return nil, err
	}
	if err := x.copyValues(op, make); err != nil {
		return nil, errors.Join(err, x.Free())
	}
	return x, nil
}

// FromNumpy returns a tensor with the shape, dtype and elements of src. src is an *Array or
// the name of a .npy file. Later changes of the *Array do not change the tensor.
func (r *Rank) FromNumpy(src any, options ...TensorOption) (*Tensor, error) {
	var a *Array
	from, fresh := "FromNumpy", false
	switch src := src.(type) {
	case string:
		var err error
		if a, err = loadNumpy(r.ctx, src); err != nil {
			return nil, err
		}
		from, fresh = src, true
	case *Array:
		a = src
		refuse(a == nil, "FromNumpy", "a nil array")
	default:
		panic(misuse("FromNumpy", "%T is no *torch.Array, and no name of a file: for a slice there is FromSlice", src))
	}
	if err := checkShape(a.Shape); err != nil {
		return nil, fmt.Errorf("%s: %w", from, err)
	}
	if a.DType.Valid() && r.hasValues() {
		want := a.Len() * a.DType.Size()
		refuse(len(a.Bytes) != want, "FromNumpy", "an array %v %v of %d bytes, want %d", a.Shape, a.DType, len(a.Bytes), want)
	}
	refuse(a.Bool && a.DType != U8, "FromNumpy", "an array of bools has dtype %v: set u8", a.DType)
	return r.create("FromNumpy", a.DType, a.Shape, options, func() ([]byte, bool) { return a.Bytes, fresh })
}

// CopyFrom copies elements into the tensor, in row-major order. src is one of:
//
//   - a slice of numbers, which are rounded to the tensor's dtype;
//   - an *Array of the same shape and dtype;
//   - a *Tensor of the same shape and dtype, which is copied through the host.
//
// An *Array of another shape or dtype is an error and not a panic, because it may come from
// a file.
func (x *Tensor) CopyFrom(src any) error {
	x.checkUsable("CopyFrom")
	if err := x.Rank().s.Begin("CopyFrom"); err != nil {
		return err
	}
	same := func(shape Shape, d DType) *Error {
		if shape.String() == x.shape.String() && d == x.dtype {
			return nil
		}
		return misuse("CopyFrom", "%v %v into %s: shape and dtype must be the same", shape, d, x.name)
	}
	switch src := src.(type) {
	case *Array:
		if err := same(src.Shape, src.DType); err != nil {
			return err
		}
		return x.copyValues("CopyFrom", func() ([]byte, bool) { return src.Bytes, false })
	case *Tensor:
		src.checkUsable("CopyFrom")
		if err := same(src.shape, src.dtype); err != nil {
			panic(err)
		}
		a, err := src.read(x.Rank(), "CopyFrom")
		if err != nil {
			return err
		}
		return x.copyValues("CopyFrom", func() ([]byte, bool) { return a.Bytes, true })
	}
	checkNumbers("CopyFrom", src, x.name, x.Numel())
	return x.copyValues("CopyFrom", func() ([]byte, bool) { return encode(src, x.dtype), true })
}

// copyValues calls the function `make` and copies the bytes that it returns into the
// tensor. It calls `make` only if this computer stores values (see hasValues); otherwise
// the copy only takes time. The second result of `make` says that the caller does not use
// the bytes any more, so that they need not be copied. op is the name of the calling
// function, for errors.
func (x *Tensor) copyValues(op string, make func() (values []byte, fresh bool)) error {
	if !x.rank.hasValues() {
		return x.copyIn(nil, false)
	}
	if err := x.rank.reserveValues(op, heldWhenCopied, x); err != nil {
		return err
	}
	return x.copyIn(make())
}

// checkNumbers panics unless data is a slice of n numbers or bools. For errors, op is the
// name of the calling function, and `what` describes the tensor or shape.
func checkNumbers(op string, data any, what string, n int) {
	count, ok := numbersLen(data)
	refuse(!ok, op, "%T is not a slice of numbers: write the elements in one slice, row after row", data)
	refuse(count != n, op, "%d elements for %s, which has %d", count, what, n)
}

// copyIn enqueues a copy from the host to the device. `values` holds the bytes of the whole
// tensor, or is nil if this computer stores no values. The copy happens later, so copyIn
// copies the bytes unless they are fresh. Shards that are copies of each other share their
// bytes.
func (x *Tensor) copyIn(values []byte, fresh bool) error {
	r := x.Rank()
	held := make([][]byte, len(x.shards))
	copies := false
	same := map[int]int{} // by offset in the tensor, the first shard that begins there
	for i := range x.shards {
		s := &x.shards[i]
		if values == nil {
			break
		}
		if s.addend > 0 {
			held[i] = make([]byte, s.bytes)
			continue
		}
		n, count, starts := s.box.runs(x.shape)
		first := 0
		for first = range starts {
			break
		}
		j, found := same[first]
		switch elem := x.dtype.Size(); {
		case found && slices.Equal(x.shards[j].box.extent, s.box.extent):
			held[i], copies = held[j], true
		case fresh && count == 1 && !found:
			held[i], same[first] = values[first*elem:(first+n)*elem], i
		default:
			held[i], same[first] = make([]byte, s.bytes), i
			s.box.extract(held[i], values, x.shape, elem)
		}
	}
	op := r.s.NewOperation("copy to "+x.name, x.region)
	op.Track = "copies"
	op.Begin = func(done sim.Event) error {
		for i, p := range x.pieces(x.shards) {
			var data []byte
			if held[i] != nil {
				data = held[i][p.off : p.off+p.bytes]
			}
			op.Expect()
			if err := r.m.CopyIn(p.va, p.bytes, data, copies, done); err != nil {
				return err
			}
		}
		held = nil
		return nil
	}
	x.region.Wrote(op, nil)
	r.s.Enqueue(op)
	return nil
}

// piece is a range of consecutive addresses in a shard.
type piece struct {
	va         memory.VA
	off, bytes memory.Bytes // offset in the shard, and size
}

// maxCopyBytes is the size of the largest piece that the host copies. It is limited because
// the op log counts elements in 32 bits.
const maxCopyBytes memory.Bytes = 1 << 30

// pieces divides the given shards of the tensor into pieces that the host can copy. It
// returns an iterator over the pieces, each with the index of its shard in the list.
func (x *Tensor) pieces(shards []shard) iter.Seq2[int, piece] {
	return func(yield func(int, piece) bool) {
		for i, s := range shards {
			size, first := memory.Bytes(x.dtype.Size()), memory.Bytes(0)
			n, _, starts := s.runs()
			for at := range starts {
				run := memory.Bytes(n) * size
				for off := memory.Bytes(0); off < run; off += maxCopyBytes {
					if !yield(i, piece{s.va + memory.VA(memory.Bytes(at)*size+off), first + off, min(maxCopyBytes, run-off)}) {
						return
					}
				}
				first += run
			}
		}
	}
}

// linearPointer returns a pointer to the address va in the tensor. The pointer has one axis
// with stride 1.
func (x *Tensor) linearPointer(va memory.VA) tl.Ptr {
	return tl.Ptr{Addr: int64(va), DType: x.dtype, Rank: 1, Stride: [4]int64{1}}
}

// EmptyLike returns a tensor with the shape and layout of x and undefined elements. An
// option is a DType, which replaces the dtype of x, or a name for the new tensor (Named).
func (r *Rank) EmptyLike(x *Tensor, options ...any) (*Tensor, error) {
	x.checkUsable("EmptyLike")
	if err := r.s.Begin("EmptyLike"); err != nil {
		return nil, err
	}
	d, name := x.dtype, Named("")
	for _, option := range options {
		switch option := option.(type) {
		case DType:
			d = option
		case Named:
			name = option
		default:
			panic(misuse("EmptyLike", "%T is no option: give a DType or Named, since the tensor is laid out as %s", option, x.name))
		}
	}
	shards := slices.Clone(x.shards)
	for i := range shards {
		shards[i].stride = nil
	}
	return r.newTensor("EmptyLike", string(name), d, x.shape, shards, x.levels, x.cuts)
}
