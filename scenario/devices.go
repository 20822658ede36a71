package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// MaxDevices is how many devices there can be.
const MaxDevices = 64

// ParseDevices reads a list of devices such as 0-3 or 0,2,5, by rank.
func ParseDevices(text string) ([]int, error) {
	var list []int
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			last = first
		}
		from, okFrom := parseDevice(first)
		to, okTo := parseDevice(last)
		switch {
		case !okFrom || !okTo || from > to:
			return nil, fmt.Errorf("%.60q names no devices: write numbers and ranges such as 0-3 or 0,2,5", part)
		case to >= MaxDevices:
			return nil, fmt.Errorf("unknown device %.20s: there are 0 to %d", last, MaxDevices-1)
		}
		for d := from; d <= to; d++ {
			if slices.Contains(list, d) {
				return nil, fmt.Errorf("device %d is there twice: each rank has a device of its own", d)
			}
			list = append(list, d)
		}
	}
	return list, nil
}

// parseDevice reads a number; one that is too large to be read is still too large.
func parseDevice(text string) (n int, ok bool) {
	read, err := strconv.ParseUint(text, 10, 31)
	return int(read), err == nil || errors.Is(err, strconv.ErrRange)
}
