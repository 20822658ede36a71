//go:build linux

package shm_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/commtest"
	"github.com/kernbench/kernbench/comm/shm"
)

// TestMeet joins runs by name, and by path; a name is free again when all have come.
func TestMeet(t *testing.T) {
	dir := folder(t)
	for _, at := range []string{commtest.Name(), filepath.Join(dir, "run")} {
		for _, n := range []int{1, 2, 5} {
			ranks := make([]int, n)
			for i := range ranks {
				ranks[i] = i
			}
			commtest.Succeed(t, join(at, n, ranks...))
		}
		if p := path(at); exists(p) {
			t.Errorf("%s is left", p)
		}
	}
}

// TestTwoRuns has two runs of one name at once: the second is refused while the first
// is joining, and begins when that has begun.
func TestTwoRuns(t *testing.T) {
	at := commtest.Name()
	first := make(chan *comm.Comm, 2)
	open := func(rank int) {
		c, err := comm.Open(context.Background(), rank, 2, at, comm.Options{Timeout: commtest.Patience})
		if err != nil {
			t.Error(err)
		}
		first <- c
	}
	go open(0)
	await(t, func() bool { return exists(path(at)) })
	says(t, join(at, 2, 0)[0], fmt.Sprintf("rank 0: open: %s: ranks do not agree: another process is rank 0 of this run, which process %d began: "+
		"give each rank a number of its own, and each run a name", path(at), os.Getpid()))
	go open(1)
	c, d := <-first, <-first
	commtest.Succeed(t, join(at, 2, 0, 1)) // while the first goes on
	if err := errors.Join(c.Close(), d.Close()); err != nil {
		t.Error(err)
	}
}

// TestTwoNames has two runs at once that do not meet.
func TestTwoNames(t *testing.T) {
	one, two := commtest.Name(), commtest.Name()
	a := begin(t, context.Background(), 0, 2, one, path(one))
	b := begin(t, context.Background(), 0, 2, two, path(two))
	commtest.Succeed(t, join(two, 2, 1))
	commtest.Succeed(t, []error{<-b})
	if !exists(path(one)) {
		t.Error("the name of a run that is joining was taken")
	}
	commtest.Succeed(t, join(one, 2, 1))
	commtest.Succeed(t, []error{<-a})
}

// TestRanksDiffer has a rank with another idea of how many there are: both fail.
func TestRanksDiffer(t *testing.T) {
	at := commtest.Name()
	first := begin(t, context.Background(), 0, 2, at, path(at))
	const why = "ranks do not agree: rank 5 says that there are 6 ranks, rank 0 that there are 2"
	says(t, join(at, 6, 5)[0], "rank 5: open: "+path(at)+": "+why)
	says(t, <-first, "rank 0: open, hello, rank 1: "+why)
	if exists(path(at)) {
		t.Error("a run that failed keeps its name")
	}
}

// TestOldLayout has a rank of an old build in the run.
func TestOldLayout(t *testing.T) {
	at := commtest.Name()
	ctx, cancel := context.WithCancelCause(context.Background())
	first := begin(t, ctx, 0, 2, at, path(at))
	f, err := os.OpenFile(path(at), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := shm.SetVersion(f, shm.Version+1); err != nil {
		t.Fatal(err)
	}
	says(t, join(at, 2, 1)[0], fmt.Sprintf("rank 1: open: %s: ranks do not agree: the shared memory is of layout %d, and rank 1 knows layout %d: "+
		"build all ranks from one version of kernbench", path(at), shm.Version+1, shm.Version))
	cancel(errors.New("enough"))
	says(t, <-first, "rank 0: open, hello, rank 1: enough")
	if exists(path(at)) {
		t.Error("a run that failed keeps its name")
	}
}

// TestSymlink refuses a name that leads elsewhere.
func TestSymlink(t *testing.T) {
	at := commtest.Name()
	target := filepath.Join(t.TempDir(), "target")
	if err := os.WriteFile(target, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path(at)); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(path(at))
	says(t, join(at, 2, 0)[0], "rank 0: open: open "+path(at)+": too many levels of symbolic links")
	if got, err := os.ReadFile(target); string(got) != "mine" {
		t.Errorf("the target: got %q, %v, want mine", got, err)
	}
}

// TestNotOurs leaves files of the user's alone, at the path that was given and beside
// it, and takes over garbage only in the folder of named runs.
func TestNotOurs(t *testing.T) {
	dir := t.TempDir() // it need not be in memory: nothing is made there
	mine, beside := filepath.Join(dir, "notes"), filepath.Join(dir, "kernbench.yaml")
	for _, p := range []string{mine, beside} {
		if err := os.WriteFile(p, make([]byte, 8192), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	says(t, join(mine, 2, 0)[0], "rank 0: open: "+mine+": not shared memory of a run: remove it, or name another")
	if !exists(mine) || !exists(beside) {
		t.Errorf("files of the user's are there: got %v and %v, want true", exists(mine), exists(beside))
	}

	at := commtest.Name()
	if err := os.WriteFile(path(at), make([]byte, 8192), 0o600); err != nil {
		t.Fatal(err)
	}
	commtest.Succeed(t, join(at, 2, 0, 1))
}

// TestGivingUp has a rank leave before the others have come: the name is free.
func TestGivingUp(t *testing.T) {
	at := commtest.Name()
	ctx, cancel := context.WithCancelCause(context.Background())
	first := begin(t, ctx, 1, 2, at, path(at))
	cancel(errors.New("enough"))
	says(t, <-first, "rank 1: open, hello, rank 0: enough")
	if exists(path(at)) {
		t.Error("a run that was given up keeps its name")
	}
	commtest.Succeed(t, join(at, 2, 0, 1))
}
