//go:build linux

package shm_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/commtest"
	"github.com/kernbench/kernbench/comm/shm"
)

// TestMain runs the tests and checks that they have left no file in /dev/shm. In a process
// that a test has started, it runs a rank instead.
func TestMain(m *testing.M) {
	if rank := os.Getenv("COMM_RANK"); rank != "" {
		os.Exit(runChild(rank, os.Getenv("COMM_RANKS"), os.Getenv("COMM_AT")))
	}
	os.Exit(commtest.Main(m))
}

// runChild opens the given rank of the run that `at` names, and closes the rank. It prints
// the error, if any, and returns the exit status.
func runChild(rank, ranks, at string) int {
	r, _ := strconv.Atoi(rank)
	n, _ := strconv.Atoi(ranks)
	c, err := comm.Open(context.Background(), r, n, at, comm.Options{Timeout: commtest.Patience})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	if err := c.Close(); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// runPath returns the path of the file of the run with the given name.
func runPath(name string) string { return filepath.Join(shm.Folder, "kernbench."+name) }

// makeFolder creates an empty folder on a file system in memory. The test fails if the
// folder is not empty at the end.
func makeFolder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(shm.Folder, commtest.Name())
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Errorf("something is left: %v", err)
		}
	})
	return dir
}

// join opens the given ranks of a run of `nranks` ranks at the same time. `at` names the
// run. Ranks that can be opened call a barrier and close. join returns the error of each
// rank, in the order of the list.
func join(at string, nranks int, ranks ...int) []error {
	errs := make([]error, len(ranks))
	done := make(chan struct{})
	for i, rank := range ranks {
		go func() {
			defer func() { done <- struct{}{} }()
			c, err := comm.Open(context.Background(), rank, nranks, at, comm.Options{Timeout: commtest.Patience})
			if err != nil {
				errs[i] = err
				return
			}
			if errs[i] = c.Barrier(); errs[i] == nil {
				errs[i] = c.Close()
			}
		}()
	}
	for range ranks {
		<-done
	}
	return errs
}

// openFirst opens the given rank as the first rank of a run, in the background. `at` names
// the run. It returns when the file of the run exists at path, so that other ranks can
// join. The returned channel delivers the error of the rank after the rank has closed or
// failed.
func openFirst(t *testing.T, ctx context.Context, rank, nranks int, at, path string) <-chan error {
	t.Helper()
	result := make(chan error, 1)
	go func() {
		c, err := comm.Open(ctx, rank, nranks, at, comm.Options{Timeout: commtest.Patience})
		if err == nil {
			err = c.Barrier()
		}
		if err == nil {
			err = c.Close()
		}
		result <- err
	}()
	waitFor(t, func() bool { return exists(path) })
	return result
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// waitFor waits until condition returns true. The test fails if that takes too long.
func waitFor(t *testing.T, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(commtest.Patience); !condition(); <-tick.C {
		if time.Now().After(end) {
			t.Fatal("the condition does not become true")
		}
	}
}

// checkError fails the test unless the text of err is one of the texts in `want`.
func checkError(t *testing.T, err error, want ...string) {
	t.Helper()
	if err := commtest.Says(err, want...); err != nil {
		t.Error(err)
	}
}
