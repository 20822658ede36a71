package exec

import "math/bits"

// value is the bytes of a tile, shared by the operations that only pass it on.
type value struct {
	bytes []byte
	refs  int32
	class int8 // of its buffer in the pool, none if it is not for reuse
}

const (
	minClass = 6  // 64 bytes
	maxClass = 26 // 64 MiB: what is larger goes back to the garbage collector
)

// pool keeps the buffers of values that are gone, by powers of two of their size.
type pool struct {
	free [maxClass + 1][]*value
}

// take is a buffer of n bytes with anything in it.
func (p *pool) take(n int) *value {
	class := max(minClass, bits.Len(uint(max(n, 1)-1)))
	if class > maxClass {
		return &value{make([]byte, n), 1, none}
	}
	list := p.free[class]
	if len(list) == 0 {
		return &value{make([]byte, n, 1<<class), 1, int8(class)}
	}
	v := list[len(list)-1]
	p.free[class] = list[:len(list)-1]
	v.bytes, v.refs = v.bytes[:n], 1
	return v
}

// release gives up one share in a value.
func (p *pool) release(v *value) {
	if v.refs--; v.refs == 0 && v.class != none {
		p.free[v.class] = append(p.free[v.class], v)
	}
}
