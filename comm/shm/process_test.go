//go:build linux

package shm_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/commtest"
	"github.com/kernbench/kernbench/comm/shm"
)

// rankCommand returns a command that opens and closes a rank in another process, and the
// buffer that receives the output of the process. uid is the user of the process; 0 means
// the user of the test.
func rankCommand(t *testing.T, uid uint32, rank, nranks int, at string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if uid != 0 { // the user may have no access to the folder of the test binary
		self = copyProgram(t, self)
	}
	cmd := exec.Command(self)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), fmt.Sprintf("COMM_RANK=%d", rank), fmt.Sprintf("COMM_RANKS=%d", nranks), "COMM_AT="+at)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if uid != 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uid, Gid: uid}
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	return cmd, &out
}

// copyProgram copies a program to a folder that all users can read, and returns the path of
// the copy.
func copyProgram(t *testing.T, program string) string {
	t.Helper()
	b, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "comm")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	to := filepath.Join(dir, "test")
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(to, b, 0o755), os.Chmod(to, 0o755)); err != nil {
		t.Fatal(err)
	}
	return to
}

// leaveKilledRun starts the first rank of a run as a process and kills it, so that the file
// of the run remains at path.
func leaveKilledRun(t *testing.T, rank, nranks int, at, path string) {
	t.Helper()
	cmd, _ := rankCommand(t, 0, rank, nranks, at)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return exists(path) })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("a killed process ended well")
	}
	if !exists(path) {
		t.Fatalf("%s: got nothing, want what a killed run leaves", path)
	}
}

// TestStale checks that a new run can use the name of a dead run. The new run may have
// another number of ranks, and may contain the rank whose process died.
func TestStale(t *testing.T) {
	at := filepath.Join(makeFolder(t), "kernbench.run")
	leaveKilledRun(t, 0, 2, at, at)
	commtest.Succeed(t, join(at, 3, 0, 1, 2))
	leaveKilledRun(t, 1, 2, at, at)
	commtest.Succeed(t, join(at, 2, 0, 1))
}

// TestSweep checks that a new run removes the files of dead runs in its folder. Files of
// living runs and other files must remain.
func TestSweep(t *testing.T) {
	dir := makeFolder(t)
	dead, living, other := filepath.Join(dir, "kernbench.dead"), filepath.Join(dir, "kernbench.living"), filepath.Join(dir, "other")
	leaveKilledRun(t, 0, 2, dead, dead)
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(other)
	first := openFirst(t, context.Background(), 0, 2, living, living)
	commtest.Succeed(t, join(filepath.Join(dir, "kernbench.new"), 2, 0, 1))
	for p, want := range map[string]bool{dead: false, living: true, other: true} {
		if got := exists(p); got != want {
			t.Errorf("%s is there: got %v, want %v", p, got, want)
		}
	}
	commtest.Succeed(t, join(living, 2, 1))
	commtest.Succeed(t, []error{<-first})
}

// TestKilledWhileJoining kills one rank of a run while the run still waits for its last
// rank. It checks that the other ranks fail before the deadline and that the name is free
// again.
func TestKilledWhileJoining(t *testing.T) {
	at := commtest.Name()
	first := openFirst(t, context.Background(), 0, 4, at, runPath(at))
	second := make(chan error, 1)
	go func() { second <- join(at, 4, 1)[0] }()
	cmd, _ := rankCommand(t, 0, 2, 4, at)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool {
		taken, err := shm.Taken(runPath(at), 2)
		if err != nil {
			t.Fatal(err)
		}
		return taken
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("a killed process ended well")
	}
	for rank, result := range []<-chan error{first, second} {
		err := <-result
		if err == nil || errors.Is(err, comm.ErrTimeout) {
			t.Errorf("rank %d: got %v, want an error before the deadline", rank, err)
		}
		if !errors.Is(err, comm.ErrLost) && !errors.Is(err, comm.ErrPeer) {
			t.Errorf("rank %d: got %v, want ErrLost or ErrPeer", rank, err)
		}
	}
	if exists(runPath(at)) {
		t.Error("the name is left")
	}
	commtest.Succeed(t, join(at, 2, 0, 1))
}

const nobodyUID = 65534

// TestPermission checks the errors when a process joins a run of another user, or creates a
// run in a folder without write permission. Both errors must name the path.
func TestPermission(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can be another user")
	}
	at := commtest.Name()
	ctx, cancel := context.WithCancelCause(context.Background())
	first := openFirst(t, ctx, 0, 2, at, runPath(at))
	dir := makeFolder(t)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(dir, "run")
	const fix = ": permission denied: remove it, or name a run that is yours\n"
	for rendezvous, want := range map[string]string{
		at:  "rank 1: open: open " + runPath(at) + fix,
		run: "rank 1: open: create shared memory " + run + ": open " + dir + fix,
	} {
		cmd, out := rankCommand(t, nobodyUID, 1, 2, rendezvous)
		err := cmd.Run()
		if got := out.String(); got != want || err == nil {
			t.Errorf("%v:\n got %swant %s", err, got, want)
		}
	}
	cancel(errors.New("enough"))
	checkError(t, <-first, "rank 0: open, hello, rank 1: enough")
}
