package printable

import (
	"fmt"
	"strings"
)

// Count returns a number of things: "1 cube", "2 cubes", "2 processes".
func Count(n int, thing string) string {
	switch {
	case n == 1:
		return "1 " + thing
	case strings.HasSuffix(thing, "s"):
		return fmt.Sprintf("%d %ses", n, thing)
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
