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

// leavesNothing fails the test if at its end there are processes, descriptors,
// goroutines or files that were not there before.
func leavesNothing(t *testing.T) {
	t.Helper()
	warm.Do(func() { // the runtime opens descriptors of its own when first needed
		if _, err := Run(context.Background(), Options{Ranks: 1, Output: t.Output()}, "idle", nil); err != nil {
			t.Fatal(err)
		}
	})
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	before, files := count(t), sharedFiles(t)
	t.Cleanup(func() {
		eventually(t, func() error {
			// What earlier tests had may have gone only now.
			if after := count(t); after.descriptors > before.descriptors || after.goroutines > before.goroutines {
				return fmt.Errorf("after the run %v, want no more than before: %v", after, before)
			}
			return nil
		})
		// Tests of other packages have files there too, but not for long.
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

// counts is how much there is of what a run must not leave.
type counts struct{ descriptors, goroutines int }

func (c counts) String() string {
	return fmt.Sprintf("%d descriptors and %d goroutines", c.descriptors, c.goroutines)
}

func count(t *testing.T) counts {
	t.Helper()
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return counts{len(open), runtime.NumGoroutine()}
}

// sharedFiles is the named memory of runs. Tests of other packages, which may run at the
// same time, have names of their own.
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

// eventually polls until there is no error, and fails the test with the last.
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

// gone is nil when a process has ended, whether or not its new parent has noticed.
func gone(pid int) error {
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
