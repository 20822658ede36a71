package torch

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/host"
	"github.com/kernbench/kernbench/internal/machine"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/internal/stream"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/oplog"
)

// Numpy copies the tensor to the host. It waits only for the operations that write the
// tensor, and the copy takes simulated time. From a replicated tensor, Numpy reads the
// first copy. For a partial tensor, it returns the sum of the addends, added in order.
// Numpy returns an error in a run without values (see HasData). It also returns an error if
// an asynchronous collective writes the tensor and has not been waited for.
func (x *Tensor) Numpy() (*Array, error) { return x.read(x.Rank(), "Numpy") }

// read copies the tensor to the host for rank r, in the same way as Numpy. op is the name
// of the calling function, for errors.
func (x *Tensor) read(r *Rank, op string) (*Array, error) { return x.copyOf(r, op, 0) }

// Data copies one shard to the host: element i of the list that Shards returns. The result
// is what the PE of the shard holds: a part, a copy or an addend of the tensor, with the
// shape of the shard's box. It waits, takes time and fails in the same cases as Numpy.
func (x *Tensor) Data(i int) (*Array, error) {
	x.checkUsable("Data")
	refuse(i < 0 || i >= len(x.shards), "Data", "no shard %d: %s has 0 to %d", i, x.name, len(x.shards)-1)
	s := &x.shards[i]
	parts, err := x.fetch(x.Rank(), "Data", x.shards[i:i+1])
	if err != nil {
		return nil, err
	}
	a := &Array{Shape: slices.Clone(s.box.extent), DType: x.dtype, Bytes: slices.Concat(parts[0]...)}
	if len(x.shape) == 0 && s.elems == 1 {
		a.Shape = Shape{}
	}
	return a, nil
}

// copyOf reads copy number k of the tensor for rank r and returns it as an array, with its
// addends summed. In a run without values, the array has no bytes. op is the name of the
// calling function, for errors.
func (x *Tensor) copyOf(r *Rank, op string, k int) (*Array, error) {
	elem := x.dtype.Size()
	a := &Array{Shape: x.Shape(), DType: x.dtype}
	var list []shard
	addends := 1
	for _, s := range x.shards {
		if s.copy == k {
			list = append(list, s)
			addends = max(addends, s.addend+1)
		}
	}
	parts, err := x.fetch(r, op, list)
	if err != nil {
		return nil, err
	}
	if !x.rank.HasData() {
		return a, nil
	}
	size := elems(x.shape) * elem
	var bytes []byte
	for i := range addends {
		whole := make([]byte, size)
		for j, s := range list {
			if s.addend == i {
				bytes = bytes[:0]
				for _, p := range parts[j] {
					bytes = append(bytes, p...)
				}
				s.box.insert(whole, bytes, x.shape, elem)
			}
		}
		if i == 0 {
			a.Bytes = whole
		} else {
			numeric.Apply(numeric.Add, x.dtype, a.Bytes, a.Bytes, whole)
		}
	}
	return a, nil
}

// fetch copies the shards of list to the host for rank r and returns the bytes of each
// shard in parts, which must not be changed. It waits for the operations that write the tensor. It returns an error if one of
// them is an asynchronous collective or message that has not been waited for. In a run
// without values, it returns an error unless op is "CopyFrom". For "CopyFrom", the copies
// then only take time, and the bytes are nil. op is the name of the calling function, for
// errors.
func (x *Tensor) fetch(r *Rank, op string, list []shard) ([][][]byte, error) {
	x.checkUsable(op)
	if err := r.s.Begin(op); err != nil {
		return nil, err
	}
	if !r.HasData() && op != "CopyFrom" {
		return nil, fmt.Errorf("%s has no values: this run was made without data", x.name)
	}
	writing, unwaited := x.region.Writing()
	if unwaited != nil {
		return nil, fmt.Errorf("%s of %s: %s, which writes it, has not been waited for: call Wait of its Work first", op, x.name, unwaited.Name)
	}
	for _, w := range writing {
		if err := r.s.Await(w); err != nil {
			return nil, err
		}
	}
	if r.HasData() {
		n := memory.Bytes(0)
		for i := range list {
			n += list[i].bytes
		}
		// The bytes are stored three times: as results of reads, as shards and as a whole.
		if err := host.Check(host.Product(3, uint64(n))); err != nil {
			return nil, x.tooLargeError(op, err)
		}
	}
	out := make([][][]byte, len(list))
	var reads []oplog.ID
	var shardOf []int
	read := stream.NewRead("read of "+x.name, x.region)
	read.Track = "copies"
	read.Begin = func(done sim.Event) error {
		for i, p := range x.pieces(list) {
			read.Expect()
			id, err := r.m.CopyOut(p.va, p.bytes, done)
			if err != nil {
				return err
			}
			reads, shardOf = append(reads, id), append(shardOf, i)
		}
		return nil
	}
	read.Finish = func() {
		if !r.HasData() || r.s.Flush() != nil {
			return
		}
		for k, id := range reads {
			out[shardOf[k]] = append(out[shardOf[k]], r.s.Values.Result(id)...)
			r.s.Values.Forget(id)
		}
	}
	r.s.Enqueue(read)
	if err := r.s.Await(read); err != nil {
		return nil, err
	}
	if r.Err() != nil { // the values could not be computed
		return nil, r.s.Reason()
	}
	return out, nil
}

// At returns one element of the tensor. There is one index for each axis; a negative index
// counts from the end. For a partial tensor, At returns the sum of the addends. It waits,
// takes time and fails in the same cases as Numpy.
func (x *Tensor) At(i ...int) (float64, error) {
	x.checkNotNil("At")
	refuse(len(i) != len(x.shape), "At", "%d indices for %s: write one for each of its %d axes", len(i), x.name, len(x.shape))
	given := i
	i = slices.Clone(i)
	for axis := range i {
		i[axis] = normalizeIndex(i[axis], x.shape[axis])
		refuse(i[axis] < 0 || i[axis] >= x.shape[axis], "At", "index %v of %s: axis %d has 0 to %d", given, x.name, axis, x.shape[axis]-1)
	}
	var list []shard
	for _, s := range x.shards {
		if s.copy > 0 {
			continue
		}
		off, inside := 0, s.elems > 0
		stride := s.strides()
		for axis, n := range i {
			from, extent := s.box.start[axis], s.box.extent[axis]
			inside = inside && n >= from && n < from+extent
			off += (n - from) * stride[axis]
		}
		if inside {
			element := holding{box: box{[]int{0}, []int{1}}}
			list = append(list, shard{holding: element, at: s.at, va: s.va + memory.VA(off*x.dtype.Size()), elems: 1, bytes: memory.Bytes(x.dtype.Size())})
		}
	}
	parts, err := x.fetch(x.Rank(), "At", list)
	if err != nil {
		return 0, err
	}
	sum := slices.Concat(parts[0]...)
	for _, p := range parts[1:] {
		numeric.Apply(numeric.Add, x.dtype, sum, sum, slices.Concat(p...))
	}
	return numeric.Get(x.dtype, sum, 0), nil
}

// String returns the tensor as text, as PyTorch does: its values, which are read from the
// device, with dots in the middle of a large tensor. In a run without values it shows the
// shape. If the values cannot be read, it shows the shape and the error.
func (x *Tensor) String() string {
	where := fmt.Sprintf("dtype=%v, device=%s", x.dtype, x.device())
	if !x.rank.HasData() {
		return fmt.Sprintf("tensor(shape=%v, %s)", x.shape, where)
	}
	a, err := x.numpy()
	if err != nil {
		return fmt.Sprintf("tensor(shape=%v, %s: %v)", x.shape, where, err)
	}
	return fmt.Sprintf("tensor(%v, %s)", a, where)
}

// numpy calls Numpy for String. Where Numpy panics because of a wrong call, numpy returns
// an error, because package fmt prints panics of String instead of passing them on. If the
// worker is stopped during the call, numpy returns stream.ErrStopped, and the worker
// continues until its next operation.
func (x *Tensor) numpy() (a *Array, err error) {
	s := x.Rank().s
	defer func() {
		reason := recover()
		misused, ok := reason.(*Error)
		switch {
		case s.Stopped():
			err = stream.ErrStopped
		case ok:
			err = misused
		case reason != nil:
			panic(reason)
		}
	}()
	return x.Numpy()
}

// device returns the name of the SIP that holds the tensor, or a range: "sip0", "sip0-3".
func (x *Tensor) device() string {
	first, last := x.sips()
	if first == last {
		return fmt.Sprintf("sip%d", first)
	}
	return fmt.Sprintf("sip%d-%d", first, last)
}

// sips returns the lowest and the highest number of a SIP that holds a part of the tensor.
func (x *Tensor) sips() (first, last int) {
	pes := machine.Numbers(pesOf(x.shards))
	_, cubes, perCube := x.rank.counts()
	return slices.Min(pes) / (cubes * perCube), slices.Max(pes) / (cubes * perCube)
}

// Array.String shortens the text of an array with more than 1000 elements (summary): along
// each axis, it shows only the first 3 and the last 3 indices (edge).
const (
	summary = 1000
	edge    = 3
)

// String returns the values of the array as text, in nested brackets.
func (a *Array) String() string {
	var b strings.Builder
	a.write(&b, 0, 0, a.Len() > summary)
	return b.String()
}

// write appends the text of a part of the array to b. The parameter at is the index of the
// part's first element. The part consists of the given axis and all later axes. If short is
// true, the middle of long axes is left out.
func (a *Array) write(b *strings.Builder, axis, at int, short bool) {
	if axis == len(a.Shape) {
		b.WriteString(strings.TrimSuffix(a.text(at), ".0"))
		return
	}
	stride := elems(a.Shape[axis+1:])
	b.WriteByte('[')
	for i := 0; i < a.Shape[axis]; i++ {
		if i > 0 {
			b.WriteString(", ")
		}
		if short && i == edge && a.Shape[axis] > 2*edge {
			b.WriteString("..., ")
			i = a.Shape[axis] - edge
		}
		a.write(b, axis+1, at+i*stride, short)
	}
	b.WriteByte(']')
}

// text returns element i as text, with all digits.
func (a *Array) text(i int) string {
	switch {
	case a.DType.IsFloat():
		return fmt.Sprint(a.At(i))
	case a.Bool && a.At(i) != 0:
		return "True"
	case a.Bool:
		return "False"
	}
	n := numeric.GetInt(a.DType, a.Bytes, i)
	if a.DType.IsSigned() {
		return fmt.Sprint(n)
	}
	return fmt.Sprint(uint64(n))
}
