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

// process is a rank that is another process, as a user.
func process(t *testing.T, uid uint32, rank, nranks int, at string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if uid != 0 { // who may not enter where the test was built
		self = copyOf(t, self)
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

func copyOf(t *testing.T, program string) string {
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

// killed leaves what a run leaves whose only rank so far is killed.
func killed(t *testing.T, rank, nranks int, at, path string) {
	t.Helper()
	cmd, _ := process(t, 0, rank, nranks, at)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, func() bool { return exists(path) })
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

// TestStale begins a run at the name of a dead one, even as the rank that died and with
// another number of ranks: nobody joins the dead one.
func TestStale(t *testing.T) {
	at := filepath.Join(folder(t), "kernbench.run")
	killed(t, 0, 2, at, at)
	commtest.Succeed(t, join(at, 3, 0, 1, 2))
	killed(t, 1, 2, at, at)
	commtest.Succeed(t, join(at, 2, 0, 1))
}

// TestSweep has a run remove what dead ones left beside it, and leave living ones
// alone.
func TestSweep(t *testing.T) {
	dir := folder(t)
	dead, living, other := filepath.Join(dir, "kernbench.dead"), filepath.Join(dir, "kernbench.living"), filepath.Join(dir, "other")
	killed(t, 0, 2, dead, dead)
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(other)
	first := begin(t, context.Background(), 0, 2, living, living)
	commtest.Succeed(t, join(filepath.Join(dir, "kernbench.new"), 2, 0, 1))
	for p, want := range map[string]bool{dead: false, living: true, other: true} {
		if got := exists(p); got != want {
			t.Errorf("%s is there: got %v, want %v", p, got, want)
		}
	}
	commtest.Succeed(t, join(living, 2, 1))
	commtest.Succeed(t, []error{<-first})
}

// TestKilledWhileJoining kills a rank while others wait for one that has not come: all
// end, and the name is gone.
func TestKilledWhileJoining(t *testing.T) {
	at := commtest.Name()
	first := begin(t, context.Background(), 0, 4, at, path(at))
	second := make(chan error, 1)
	go func() { second <- join(at, 4, 1)[0] }()
	cmd, _ := process(t, 0, 2, 4, at)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, func() bool {
		there, err := shm.Taken(path(at), 2)
		if err != nil {
			t.Fatal(err)
		}
		return there
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
	if exists(path(at)) {
		t.Error("the name is left")
	}
	commtest.Succeed(t, join(at, 2, 0, 1))
}

const nobody = 65534

// TestPermission joins a run of another user, and makes one where the user may not
// write: the errors name the path.
func TestPermission(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can be another user")
	}
	at := commtest.Name()
	ctx, cancel := context.WithCancelCause(context.Background())
	first := begin(t, ctx, 0, 2, at, path(at))
	dir := folder(t)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(dir, "run")
	const fix = ": permission denied: remove it, or name a run that is yours\n"
	for rendezvous, want := range map[string]string{
		at:  "rank 1: open: open " + path(at) + fix,
		run: "rank 1: open: create shared memory " + run + ": open " + dir + fix,
	} {
		cmd, out := process(t, nobody, 1, 2, rendezvous)
		err := cmd.Run()
		if got := out.String(); got != want || err == nil {
			t.Errorf("%v:\n got %swant %s", err, got, want)
		}
	}
	cancel(errors.New("enough"))
	says(t, <-first, "rank 0: open, hello, rank 1: enough")
}
