package printable

import (
	"fmt"
	"strings"
)

// Count returns a number of things: "1 check", "2 checks", "3 processes".
func Count(n int, thing string) string {
	switch {
	case n == 1:
		return "1 " + thing
	case strings.HasSuffix(thing, "s"):
		thing += "e"
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
