//go:build !unix

package cli

import "io"

// hasWidth takes every terminal for one that says how wide it is.
func hasWidth(io.Writer) bool { return true }
