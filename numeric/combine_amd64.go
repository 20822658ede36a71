package numeric

// group is the number of bytes of each operand that the assembly combines at a time.
const group = 128

// combineVector computes op of x and y and writes the results to dst, and also to the
// second destination `also` unless `also` is nil. If there is no assembly for op and d, it
// does nothing and returns false. If `streaming` is set, it uses streaming stores, which
// must be aligned. If the two destinations do not become aligned at the same element, it
// uses plain stores.
func combineVector(op Op, d DType, dst, also, x, y []byte, streaming bool) bool {
	if !vector || !isVectorised(op, d) {
		return false
	}
	from := 0
	if streaming {
		from = min(bytesToAlign(dst), len(dst))
		if streaming = from%d.Size() == 0 && (also == nil || bytesToAlign(also) == bytesToAlign(dst)); !streaming {
			from = 0
		}
	}
	groups := (len(dst) - from) / group
	combinePadded(op, d, dst, also, x, y, 0, from)
	if groups > 0 {
		var second *byte
		if also != nil {
			second = &also[from]
		}
		combineGroups(op, d, &dst[from], second, &x[from], &y[from], groups, streaming)
	}
	combinePadded(op, d, dst, also, x, y, from+groups*group, len(dst))
	return true
}

// combinePadded computes op for the bytes in [from, to) of x and y, which are fewer than a
// group of 128 bytes. It copies them to a padded group, combines the group, and copies the
// result to dst, and to `also` unless `also` is nil.
func combinePadded(op Op, d DType, dst, also, x, y []byte, from, to int) {
	if from == to {
		return
	}
	var padded struct{ x, y [group]byte }
	copy(padded.x[:], x[from:to])
	copy(padded.y[:], y[from:to])
	combineGroups(op, d, &padded.x[0], nil, &padded.x[0], &padded.y[0], 1, false)
	copy(dst[from:to], padded.x[:])
	if also != nil {
		copy(also[from:to], padded.x[:])
	}
}

// isVectorised reports whether there is assembly for op on elements of dtype d.
func isVectorised(op Op, d DType) bool {
	switch d {
	case F16, BF16, F32, F64:
		return op <= Minimum
	case I32:
		return op == Add || op == Maximum || op == Minimum
	case U32, I64, U64:
		return op == Add
	default:
		return false
	}
}

// combineGroups calls the assembly function for dtype d, which computes op for the given
// number of whole groups of 128 bytes.
func combineGroups(op Op, d DType, dst, also, x, y *byte, groups int, streaming bool) {
	switch d {
	case F16:
		combineF16(op, dst, also, x, y, groups, streaming)
	case BF16:
		combineBF16(op, dst, also, x, y, groups, streaming)
	case F32:
		combineF32(op, dst, also, x, y, groups, streaming)
	case F64:
		combineF64(op, dst, also, x, y, groups, streaming)
	case I32, U32:
		combineI32(op, dst, also, x, y, groups, streaming)
	case I64, U64:
		combineI64(op, dst, also, x, y, groups, streaming)
	}
}

// The functions below combine whole groups, at least one, into dst and, unless it is nil,
// into also. For streaming, dst and also must be aligned. The functions for floats support
// Add to Minimum, combineI32 supports Add, Maximum and Minimum, and combineI64 Add.

//go:noescape
func combineF16(op Op, dst, also, x, y *byte, groups int, streaming bool)

//go:noescape
func combineBF16(op Op, dst, also, x, y *byte, groups int, streaming bool)

//go:noescape
func combineF32(op Op, dst, also, x, y *byte, groups int, streaming bool)

//go:noescape
func combineF64(op Op, dst, also, x, y *byte, groups int, streaming bool)

//go:noescape
func combineI32(op Op, dst, also, x, y *byte, groups int, streaming bool)

//go:noescape
func combineI64(op Op, dst, also, x, y *byte, groups int, streaming bool)
