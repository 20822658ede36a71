package procpe

import (
	"fmt"
	"math"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/internal/oplog"
	"github.com/kernbench/kernbench/tl"
)

// Tensor is an argument of a launch that the kernel gets a pointer to: dense elements,
// row by row, in memory of the rank's own or in its part of a window.
type Tensor struct {
	Name  string // for errors
	DType tl.DType
	Shape tl.Shape

	Memory []byte // the rank's own, unless Window is set

	// Window has the tensor at each of its ranks, Offset bytes into their parts. Put and
	// Get are for such tensors only.
	Window *comm.Window
	Offset int64
}

// String is the name, shape and dtype: "x [4 64] f32".
func (x Tensor) String() string { return fmt.Sprintf("%s %v %v", x.Name, x.Shape, x.DType) }

// memory is the bytes of the tensor and the pointer to it, with neither address nor
// window.
func (x *Tensor) memory() ([]byte, tl.Ptr, error) {
	p := tl.Ptr{DType: x.DType, Rank: int8(len(x.Shape))}
	if !x.DType.Valid() {
		return nil, p, fmt.Errorf("tensor %s has no dtype: use tl.F16 to tl.U64", x.Name)
	}
	if len(x.Shape) > oplog.MaxRank {
		return nil, p, fmt.Errorf("tensor %v has %d axes: %d are the most", x, len(x.Shape), oplog.MaxRank)
	}
	all := x.Memory
	if x.Window != nil {
		if all != nil {
			return nil, p, fmt.Errorf("tensor %v is in memory and in a window: give one", x)
		}
		all = x.Window.Local()
	}
	elem := int64(x.DType.Size())
	bytes := elem
	for i := len(x.Shape) - 1; i >= 0; i-- {
		n := int64(x.Shape[i])
		if n < 0 || n > math.MaxInt32 || n > 0 && bytes > maxBytes/2/n {
			return nil, p, fmt.Errorf("tensor %v: axis %d has %d elements, which no tensor has", x, i, n)
		}
		p.Stride[i], p.Extent[i] = bytes/elem, int32(n)
		bytes *= n
	}
	if x.Offset < 0 || x.Offset > int64(len(all))-bytes {
		return nil, p, fmt.Errorf("tensor %v is %d bytes, from byte %d on, of memory that has %d", x, bytes, x.Offset, len(all))
	}
	return all[x.Offset:][:bytes], p, nil
}

// argument makes a tensor part of the memory of kernels.
func (s *Session) argument(x *Tensor) error {
	memory, p, err := x.memory()
	if err != nil {
		return err
	}
	r := region{name: x.String(), bytes: memory, window: x.Window, offset: x.Offset}
	if x.Window != nil {
		r.members = x.Window.Comm().Ranks()
	}
	s.regions = append(s.regions, r)
	p.Addr, p.Window = address(s.regions), int16(len(s.regions))
	s.ptrs = append(s.ptrs, p)
	return nil
}
