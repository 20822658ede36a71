package collperf

import (
	"errors"
	"math/bits"
	"regexp"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/topology"
)

// Size is an amount of data as nccl-tests writes it, and the value of a flag: 8, 4K, 1M, 1G,
// in powers of two, or with small letters.
type Size topology.Bytes

var sizePattern = regexp.MustCompile(`^([0-9]+)(?:B|([KMGTkmgt])(?:iB)?)?$`)

// String returns the shortest text of the size.
func (b *Size) String() string {
	n := uint64(*b)
	prefix := 0
	if n > 0 {
		prefix = min(bits.TrailingZeros64(n)/10, 4)
	}
	return strconv.FormatUint(n>>(10*prefix), 10) + strings.TrimSpace(" KMGT"[prefix:prefix+1])
}

// Type returns what the help calls the value.
func (b *Size) Type() string { return "size" }

// Set reads a text.
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
