//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package experiment

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// lock locks a file for this process until the file is closed. It does not wait. If another
// process has locked the file, lock returns an error. The error names that process if it is
// known.
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, syscall.EWOULDBLOCK):
		return fmt.Errorf("lock %s: %w: choose a folder whose file system has locks", f.Name(), err)
	}
	who := "another process"
	if pid := holder(f); pid != "" {
		who = "process " + pid
	}
	return fmt.Errorf("%s is writing %s: wait for its end, stop it, or choose another name", who, f.Name())
}

// holder returns the id of the process that has locked a file, or "" if /proc/locks does
// not list the lock. A line of /proc/locks is "1: FLOCK ADVISORY WRITE pid
// major:minor:inode 0 EOF".
func holder(f *os.File) (pid string) {
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	locks, err := os.ReadFile("/proc/locks")
	if !ok || err != nil {
		return ""
	}
	dev := uint64(st.Dev)
	id := fmt.Sprintf("%02x:%02x:%d", unix.Major(dev), unix.Minor(dev), st.Ino)
	for line := range strings.Lines(string(locks)) {
		if words := strings.Fields(line); len(words) == 8 && words[1] == "FLOCK" && words[5] == id {
			return words[4]
		}
	}
	return ""
}
