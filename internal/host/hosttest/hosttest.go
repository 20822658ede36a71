// Package hosttest has tests pretend that the computer has some amount of memory, or run
// processes that really have no more.
//
// It imports internal/host alone.
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

// SetMemory makes this computer one of 16 GB with so many MB free, until the test ends.
func SetMemory(t testing.TB, freeMB int) {
	t.Helper()
	t.Cleanup(host.Pretend(Root(t, freeMB)))
}

// Root returns a root folder for [host.Pretend]: that of a computer of 16 GB with so many
// MB free.
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

// Group makes a control group of processes that together may use so many bytes, and
// returns its folder: a process joins with [Join]. The test is skipped where no such
// group can be made.
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
		t.Cleanup(func() { // the kernel needs a moment to notice that the last process has gone
			for range 500 {
				if err = os.Remove(group); err == nil {
					return
				}
				time.Sleep(4 * time.Millisecond)
			}
			t.Error(err)
		})
		file := filepath.Join(group, kind.limit)
		_, err = os.Stat(file) // no controller: MkdirTemp made a plain folder, or it is not enabled
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

// Join moves this process into a group.
func Join(group string) error {
	return os.WriteFile(filepath.Join(group, "cgroup.procs"), []byte("0"), 0)
}
