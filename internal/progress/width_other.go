//go:build !unix

package progress

import "io"

// terminalWidth returns the width of a terminal in columns, or 0 if it is not known.
func terminalWidth(io.Writer) int { return 0 }
