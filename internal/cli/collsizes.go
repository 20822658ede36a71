package cli

import (
	"errors"
	"math/bits"
	"regexp"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/topology"
)

// byteSize is the value of a flag that is an amount of data, written as nccl-tests does:
// 8, 4K, 1M, 1G, in powers of two, or with small letters.
type byteSize topology.Bytes

var sizePattern = regexp.MustCompile(`^([0-9]+)(?:B|([KMGTkmgt])(?:iB)?)?$`)

// String is the shortest way to write it.
func (b *byteSize) String() string {
	n := uint64(*b)
	prefix := 0
	if n > 0 {
		prefix = min(bits.TrailingZeros64(n)/10, 4)
	}
	return strconv.FormatUint(n>>(10*prefix), 10) + strings.TrimSpace(" KMGT"[prefix:prefix+1])
}

// Type is what the help calls it.
func (b *byteSize) Type() string { return "size" }

// Set reads it.
func (b *byteSize) Set(text string) error {
	m := sizePattern.FindStringSubmatch(text)
	if m == nil {
		return errors.New("write a number of bytes such as 8, 4K, 1M or 1G (powers of two)")
	}
	n, err := strconv.ParseUint(m[1], 10, 64)
	shift := 10 * strings.Index(" KMGT", strings.ToUpper(m[2]))
	if err != nil || bits.Len64(n)+shift > 62 {
		return errors.New("more bytes than there can be")
	}
	*b = byteSize(n << shift)
	return nil
}
