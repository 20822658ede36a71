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

// TestMain is also the main of processes that tests start, and checks that nothing is
// left in the system.
func TestMain(m *testing.M) {
	if rank := os.Getenv("COMM_RANK"); rank != "" {
		os.Exit(child(rank, os.Getenv("COMM_RANKS"), os.Getenv("COMM_AT")))
	}
	os.Exit(commtest.Main(m))
}

// child opens a rank and closes it, or prints why it cannot.
func child(rank, ranks, at string) int {
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

// path is where a named run meets.
func path(name string) string { return filepath.Join(shm.Folder, "kernbench."+name) }

// folder is an empty one in memory.
func folder(t *testing.T) string {
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

// join opens ranks of a run at once and is the error of each. Ranks that could be opened
// meet and are closed.
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

// begin opens the first rank of a run in the background and returns when others can
// find it. Its error comes later.
func begin(t *testing.T, ctx context.Context, rank, nranks int, at, path string) <-chan error {
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
	await(t, func() bool { return exists(path) })
	return result
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// await waits for something that will be.
func await(t *testing.T, so func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(commtest.Patience); !so(); <-tick.C {
		if time.Now().After(end) {
			t.Fatal("what should happen does not")
		}
	}
}

// says compares the text of an error with what it should be.
func says(t *testing.T, err error, want ...string) {
	t.Helper()
	if err := commtest.Says(err, want...); err != nil {
		t.Error(err)
	}
}
