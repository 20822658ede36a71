//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package experiment

import "os"

// lock does nothing on this platform. On other platforms it locks a file against other
// processes.
func lock(*os.File) error { return nil }
