package collperf

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"regexp"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/host"
	"github.com/kernbench/kernbench/numeric"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// smallest is the size after 0 if sizes are multiplied.
const smallest topology.Bytes = 8

// sizes yields the sizes to measure, in ascending order.
func (o *Options) sizes() iter.Seq[topology.Bytes] {
	return func(yield func(topology.Bytes) bool) {
		if o.Collective == ccl.Barrier {
			yield(0)
			return
		}
		factor := topology.Bytes(cmp.Or(o.StepFactor, 2))
		for size := o.Min; size <= o.Max && yield(size); {
			switch {
			case o.StepBytes > 0:
				size += o.StepBytes
			case size == 0:
				size = smallest
			case size > o.Max/factor:
				return
			default:
				size *= factor
			}
		}
	}
}

// numSizes returns the number of sizes that o.sizes yields.
func (o *Options) numSizes() (n int64) {
	if o.StepBytes > 0 && o.Collective != ccl.Barrier {
		return int64((o.Max-o.Min)/o.StepBytes) + 1
	}
	for range o.sizes() { // at most 64
		n++
	}
	return n
}

// maxRows is the maximum number of rows. More rows are assumed to be a mistake in the
// steps.
const maxRows = 100_000

// rows returns the number of rows: one for each size, series and algorithm.
func (o *Options) rows() int64 {
	return int64(host.Product(o.numSizes(), int64(len(o.series())), int64(len(o.algorithms()))))
}

// blocks returns how many blocks a rank has as input and as output. Collectives with one
// input block and one output block are in place, except sendrecv.
func blocks(c ccl.Collective, ranks int) (in, out int) {
	switch c {
	case ccl.AllGather, ccl.Gather:
		return 1, ranks
	case ccl.ReduceScatter, ccl.Scatter:
		return ranks, 1
	case ccl.AllToAll:
		return ranks, ranks
	}
	return 1, 1
}

// busFactor returns the bus bandwidth divided by the algorithm bandwidth: the bytes that
// each rank must move per byte of data with the best algorithm.
func busFactor(c ccl.Collective, ranks int) float64 {
	n := float64(ranks)
	switch c {
	case ccl.AllReduce:
		return 2 * (n - 1) / n
	case ccl.AllGather, ccl.ReduceScatter, ccl.AllToAll:
		return (n - 1) / n
	}
	return 1
}

// Size is an amount of data in the notation of nccl-tests, and the value of a flag: 8, 4K,
// 1M, 1G, in powers of two, also with small letters.
type Size topology.Bytes

var sizePattern = regexp.MustCompile(`^([0-9]+)(?:B|([KMGTkmgt])(?:iB)?)?$`)

// String formats the size in the largest unit of T, G, M, K and bytes that divides it, such
// as "1536K".
func (b *Size) String() string {
	n := uint64(*b)
	prefix := 0
	if n > 0 {
		prefix = min(bits.TrailingZeros64(n)/10, 4)
	}
	return strconv.FormatUint(n>>(10*prefix), 10) + strings.TrimSpace(" KMGT"[prefix:prefix+1])
}

// Type returns the name that help texts use for the value of the flag.
func (b *Size) Type() string { return "size" }

// Set parses a size in the notation of nccl-tests.
func (b *Size) Set(text string) error {
	m := sizePattern.FindStringSubmatch(text)
	if m == nil {
		return errors.New("write a number of bytes such as 8, 4K, 1M or 1G (powers of two)")
	}
	n, err := strconv.ParseUint(m[1], 10, 64)
	shift := 10 * strings.Index(" KMGT", strings.ToUpper(m[2]))
	if err != nil || bits.Len64(n)+shift > 62 {
		return errors.New("more bytes than there can be")
	}
	*b = Size(n << shift)
	return nil
}

// dtypeNames maps the names of dtypes in nccl-tests to dtypes.
var dtypeNames = map[string]tl.DType{
	"half": tl.F16, "float16": tl.F16, "bfloat16": tl.BF16, "float": tl.F32, "float32": tl.F32, "double": tl.F64, "float64": tl.F64,
	"int8": tl.I8, "int16": tl.I16, "int32": tl.I32, "int64": tl.I64,
	"uint8": tl.U8, "uint16": tl.U16, "uint32": tl.U32, "uint64": tl.U64,
}

// DTypes is the value of a flag: a dtype, or all dtypes.
type DTypes []tl.DType

// String returns the name of the dtype if there is exactly one, else "all".
func (d *DTypes) String() string {
	if len(*d) == 1 {
		return (*d)[0].String()
	}
	return "all"
}

// Type returns the name that help texts use for the value of the flag.
func (d *DTypes) Type() string { return "dtype" }

// Set parses the name of a dtype, or "all". The name may be one that nccl-tests uses.
func (d *DTypes) Set(word string) error {
	one, err := numeric.ParseDType(word)
	alias, known := dtypeNames[word]
	switch {
	case word == "all":
		*d = numeric.DTypes
	case known:
		*d = DTypes{alias}
	case err != nil:
		return fmt.Errorf("%w, or all", err)
	default:
		*d = DTypes{one}
	}
	return nil
}
