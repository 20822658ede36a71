//go:build unix

package progress

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// terminalWidth returns the width of a terminal in columns, or 0 if it is not known.
func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
