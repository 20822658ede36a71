package torch

// PartOn is where the part of the tensor on a SIP lies, as a kernel reads it: its first
// address, its bytes and its shape. It is ok if that is one row-major block of whole
// rows: the shards there are side by side, of the first copy and the first addend,
// without gaps, and cut along the first axis alone.
func (x *Tensor) PartOn(sip int) (va, bytes int64, shape Shape, ok bool) {
	x.usable("PartOn")
	rows, from := 0, 0 // so many, from this one on
	for _, s := range x.shards {
		if s.elems == 0 || x.ctx.m.PE(s.at).SIP != sip {
			continue
		}
		if rows == 0 {
			va, from = int64(s.va), s.box.start[0]
		}
		whole := elems(s.box.extent[1:]) == elems(axes(x.shape)[1:])
		if s.copy != 0 || s.addend != 0 || s.stride != nil || !whole || s.box.start[0] != from+rows || int64(s.va) != va+bytes {
			return 0, 0, nil, false
		}
		rows += s.box.extent[0]
		bytes += int64(s.bytes)
	}
	if rows == 0 {
		return 0, 0, nil, false
	}
	shape = x.Shape()
	if len(shape) > 0 {
		shape[0] = rows
	}
	return va, bytes, shape, true
}
