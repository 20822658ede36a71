package scenario

import (
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
		from, errFrom := strconv.ParseUint(first, 10, 31)
		to, errTo := strconv.ParseUint(last, 10, 31)
		switch {
		case errFrom != nil || errTo != nil || from > to:
			return nil, fmt.Errorf("%.60q names no devices: write numbers and ranges such as 0-3 or 0,2,5", part)
		case to >= MaxDevices:
			return nil, fmt.Errorf("unknown device %d: there are 0 to %d", to, MaxDevices-1)
		}
		for d := int(from); d <= int(to); d++ {
			if slices.Contains(list, d) {
				return nil, fmt.Errorf("device %d is there twice: each rank has a device of its own", d)
			}
			list = append(list, d)
		}
	}
	return list, nil
}
