//go:build unix

package cli

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// hasWidth reports whether a terminal says how wide it is: one that does not shows no bar.
func hasWidth(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	return err == nil && size.Col > 0
}
