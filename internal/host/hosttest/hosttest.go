// Package hosttest lets tests pretend that the computer has a given amount of free memory,
// or run processes in a control group that limits their memory.
//
// Of this module, it imports only internal/host.
package hosttest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/kernbench/kernbench/internal/host"
)

// SetMemory makes package host report a computer of 16 GB with freeMB MB free, until the
// test ends.
func SetMemory(t testing.TB, freeMB int) {
	t.Helper()
	t.Cleanup(host.Pretend(Root(t, freeMB)))
}

// Root returns a root folder for [host.Pretend]. Its files describe a computer with 16 GB
// of memory, of which freeMB MB are free.
func Root(t testing.TB, freeMB int) string {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "proc"), 0o777); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("MemTotal: %d kB\nMemAvailable: %d kB\n", 16_000_000_000>>10, freeMB*1_000_000>>10)
	if err := os.WriteFile(filepath.Join(root, "proc", "meminfo"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return root
}

// Group creates a control group whose processes together may use the given number of bytes,
// and returns its folder. A process joins the group with [Join]. Group skips the test if it
// cannot create such a group.
func Group(t testing.TB, bytes int64) string {
	t.Helper()
	var why []error
	for _, kind := range []struct{ folder, limit string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
		{"/sys/fs/cgroup", "memory.max"},
	} {
		group, err := os.MkdirTemp(kind.folder, "kernbench-test-")
		if err != nil {
			why = append(why, err)
			continue
		}
		t.Cleanup(func() { // the kernel takes a moment to notice that the last process has ended
			for range 500 {
				if err = os.Remove(group); err == nil {
					return
				}
				time.Sleep(4 * time.Millisecond)
			}
			t.Error(err)
		})
		file := filepath.Join(group, kind.limit)
		// The file is missing if the folder is no control group, or if the memory
		// controller is not enabled.
		_, err = os.Stat(file)
		if err == nil {
			err = os.WriteFile(file, fmt.Append(nil, bytes), 0)
		}
		if err == nil {
			return group
		}
		why = append(why, err)
	}
	t.Skip("cannot make a control group with a limit of memory:", errors.Join(why...))
	return ""
}

// Join moves this process into the control group with the given folder.
func Join(group string) error {
	return os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte("0"), 0)
}
