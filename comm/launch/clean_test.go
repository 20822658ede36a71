//go:build linux

package launch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

var warm sync.Once

// checkCleanup registers checks for the end of the test: the test must have left no
// processes, file descriptors, goroutines or files.
func checkCleanup(t *testing.T) {
	t.Helper()
	warm.Do(func() { // the runtime opens descriptors on the first use
		if _, err := Run(context.Background(), Options{Ranks: 1, Output: t.Output()}, "idle", nil); err != nil {
			t.Fatal(err)
		}
	})
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	before, files := countResources(t), sharedFiles(t)
	t.Cleanup(func() {
		eventually(t, func() error {
			// Resources of earlier tests may have been freed since, so fewer are fine.
			if after := countResources(t); after.descriptors > before.descriptors || after.goroutines > before.goroutines {
				return fmt.Errorf("after the run %v, want no more than before: %v", after, before)
			}
			return nil
		})
		// Tests of other packages may also create files there, but remove them soon.
		added := slices.DeleteFunc(sharedFiles(t), func(f string) bool { return slices.Contains(files, f) })
		eventually(t, func() error {
			now := sharedFiles(t)
			added = slices.DeleteFunc(added, func(f string) bool { return !slices.Contains(now, f) })
			if len(added) > 0 {
				return fmt.Errorf("files left behind: %v, want none", added)
			}
			return nil
		})
		left, err := os.ReadDir(temp)
		if err != nil || len(left) > 0 {
			t.Errorf("temporary files left behind: %v, %v; want none", left, err)
		}
		if pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil); !errors.Is(err, unix.ECHILD) {
			t.Errorf("wait for any child: process %d, error %v; want %v", pid, err, unix.ECHILD)
		}
	})
}

// counts holds the numbers of open descriptors and goroutines.
type counts struct{ descriptors, goroutines int }

func (c counts) String() string {
	return fmt.Sprintf("%d descriptors and %d goroutines", c.descriptors, c.goroutines)
}

func countResources(t *testing.T) counts {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return counts{len(open), runtime.NumGoroutine()}
}

// sharedFiles lists the files of named runs in /dev/shm. It leaves out the files of tests
// of other packages, which may run at the same time.
func sharedFiles(t *testing.T) (files []string) {
	t.Helper()
	all, err := filepath.Glob("/dev/shm/kernbench.*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if !strings.HasPrefix(filepath.Base(f), "kernbench.test-") {
			files = append(files, f)
		}
	}
	return files
}

// eventually calls check repeatedly until check returns nil. If that does not happen within
// 2 s, the test fails with the last error.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	var err error
	for range 500 {
		if err = check(); err == nil {
			return
		}
		time.Sleep(4 * time.Millisecond)
	}
	t.Error(err)
}

// checkEnded returns an error if the process with the ID pid still runs. A zombie counts as
// ended.
func checkEnded(pid int) error {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	var id int
	var name, state string
	if _, err := fmt.Sscan(string(stat), &id, &name, &state); err != nil || state == "Z" || state == "X" {
		return nil
	}
	return fmt.Errorf("process %d is %s, want it gone", pid, stat)
}
