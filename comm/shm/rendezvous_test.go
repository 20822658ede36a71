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

// TestMeet checks that ranks join the same run by its name or by its path, and that no file
// is left when all ranks have joined.
func TestMeet(t *testing.T) {
	dir := makeFolder(t)
	for _, at := range []string{commtest.Name(), filepath.Join(dir, "run")} {
		for _, n := range []int{1, 2, 5} {
			ranks := make([]int, n)
			for i := range ranks {
				ranks[i] = i
			}
			commtest.Succeed(t, join(at, n, ranks...))
		}
		if p := runPath(at); exists(p) {
			t.Errorf("%s is left", p)
		}
	}
}

// TestTwoRuns starts two runs with the same name. It checks that the second run is refused
// while ranks of the first are joining, and that it can begin when all ranks of the first
// have joined.
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
	waitFor(t, func() bool { return exists(runPath(at)) })
	checkError(t, join(at, 2, 0)[0], fmt.Sprintf("rank 0: open: %s: ranks do not agree: another process is rank 0 of this run, which process %d began: "+
		"give each rank a number of its own, and each run a name", runPath(at), os.Getpid()))
	go open(1)
	c, d := <-first, <-first
	commtest.Succeed(t, join(at, 2, 0, 1)) // while the first run continues
	if err := errors.Join(c.Close(), d.Close()); err != nil {
		t.Error(err)
	}
}

// TestTwoNames checks that two runs with different names can join at the same time and do
// not affect each other.
func TestTwoNames(t *testing.T) {
	one, two := commtest.Name(), commtest.Name()
	a := openFirst(t, context.Background(), 0, 2, one, runPath(one))
	b := openFirst(t, context.Background(), 0, 2, two, runPath(two))
	commtest.Succeed(t, join(two, 2, 1))
	commtest.Succeed(t, []error{<-b})
	if !exists(runPath(one)) {
		t.Error("the name of a run that is joining was taken")
	}
	commtest.Succeed(t, join(one, 2, 1))
	commtest.Succeed(t, []error{<-a})
}

// TestRanksDiffer checks the errors of two ranks that join the same run and expect
// different numbers of ranks. It also checks that the failed run gives up its name.
func TestRanksDiffer(t *testing.T) {
	at := commtest.Name()
	first := openFirst(t, context.Background(), 0, 2, at, runPath(at))
	const why = "ranks do not agree: rank 5 says that there are 6 ranks, rank 0 that there are 2"
	checkError(t, join(at, 6, 5)[0], "rank 5: open: "+runPath(at)+": "+why)
	checkError(t, <-first, "rank 0: open, hello, rank 1: "+why)
	if exists(runPath(at)) {
		t.Error("a run that failed keeps its name")
	}
}

// TestOldLayout checks the error of a rank that joins a run whose file has another layout
// version. It also checks that the name of the run is free after the first rank has stopped
// waiting.
func TestOldLayout(t *testing.T) {
	at := commtest.Name()
	ctx, cancel := context.WithCancelCause(context.Background())
	first := openFirst(t, ctx, 0, 2, at, runPath(at))
	f, err := os.OpenFile(runPath(at), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := shm.SetVersion(f, shm.Version+1); err != nil {
		t.Fatal(err)
	}
	checkError(t, join(at, 2, 1)[0], fmt.Sprintf("rank 1: open: %s: ranks do not agree: the shared memory is of layout %d, and rank 1 knows layout %d: "+
		"build all ranks from one version of kernbench", runPath(at), shm.Version+1, shm.Version))
	cancel(errors.New("enough"))
	checkError(t, <-first, "rank 0: open, hello, rank 1: enough")
	if exists(runPath(at)) {
		t.Error("a run that failed keeps its name")
	}
}

// TestSymlink checks that joining fails if the path of the run is a symbolic link, and that
// the target of the link is not changed.
func TestSymlink(t *testing.T) {
	at := commtest.Name()
	target := filepath.Join(t.TempDir(), "target")
	if err := os.WriteFile(target, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, runPath(at)); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(runPath(at))
	checkError(t, join(at, 2, 0)[0], "rank 0: open: open "+runPath(at)+": too many levels of symbolic links")
	if got, err := os.ReadFile(target); string(got) != "mine" {
		t.Errorf("the target: got %q, %v, want mine", got, err)
	}
}

// TestNotOurs checks that joining fails if the path of the run is a file of the user. This
// file and a file of the user in the same folder must not be removed. In /dev/shm, a file
// with the name of a run is replaced whatever it contains.
func TestNotOurs(t *testing.T) {
	dir := t.TempDir() // it need not be in memory: no run is created there
	given, sibling := filepath.Join(dir, "notes"), filepath.Join(dir, "kernbench.yaml")
	for _, p := range []string{given, sibling} {
		if err := os.WriteFile(p, make([]byte, 8192), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	checkError(t, join(given, 2, 0)[0], "rank 0: open: "+given+": not shared memory of a run: remove it, or name another")
	if !exists(given) || !exists(sibling) {
		t.Errorf("files of the user exist: got %v and %v, want true", exists(given), exists(sibling))
	}

	at := commtest.Name()
	if err := os.WriteFile(runPath(at), make([]byte, 8192), 0o600); err != nil {
		t.Fatal(err)
	}
	commtest.Succeed(t, join(at, 2, 0, 1))
}

// TestGivingUp checks that the name of a run is free after its first rank has stopped
// waiting for the other ranks.
func TestGivingUp(t *testing.T) {
	at := commtest.Name()
	ctx, cancel := context.WithCancelCause(context.Background())
	first := openFirst(t, ctx, 1, 2, at, runPath(at))
	cancel(errors.New("enough"))
	checkError(t, <-first, "rank 1: open, hello, rank 0: enough")
	if exists(runPath(at)) {
		t.Error("a run that was given up keeps its name")
	}
	commtest.Succeed(t, join(at, 2, 0, 1))
}
