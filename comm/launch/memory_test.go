//go:build linux

package launch

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/kernbench/kernbench/internal/host"
	"github.com/kernbench/kernbench/internal/host/hosttest"
)

// TestOutOfMemory launches ranks in a control group. One of the ranks uses up the memory of
// the group. The test checks that the kernel kills that rank and not the launcher, and that
// the error gives the reason.
func TestOutOfMemory(t *testing.T) {
	checkCleanup(t)
	group := hosttest.Group(t, 128<<20)
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), groupVariable+"="+group)
	out, err := cmd.Output()
	if err == nil || err.Error() != "exit status 6" {
		t.Errorf("launcher: %v, want exit status 6", err)
	}
	want := fmt.Sprintf("rank 1: killed by SIGKILL: out of memory, control group /%s allows 0.134 GB: take fewer ranks, or have them use less\nranks 0 and 2 failed in consequence\n", filepath.Base(group))
	if string(out) != want {
		t.Errorf("launcher says\n%swant\n%s", out, want)
	}
}

// TestOOMScore checks that ranks have the highest OOM score, so that the kernel kills a
// rank and not the launcher when memory runs out.
func TestOOMScore(t *testing.T) {
	got, err := Run(withDeadline(t), Options{Ranks: 2}, "score", nil)
	if err != nil {
		t.Fatal(err)
	}
	for rank, score := range got {
		if string(score) != "1000\n" {
			t.Errorf("score of rank %d: %q, want 1000", rank, score)
		}
	}
}

// TestExplain checks when explain adds the reason "out of memory" to the error of a rank
// that died. A fake /proc provides the kernel's counter of processes that it killed for
// lack of memory.
func TestExplain(t *testing.T) {
	root := hosttest.Root(t, 2000)
	t.Cleanup(host.Pretend(root))
	kills := func(n int) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, "proc", "vmstat"), fmt.Appendf(nil, "pgfault 1\noom_kill %d\n", n), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	const (
		plain  = "killed by SIGKILL"
		memory = "killed by SIGKILL: out of memory, this computer has 16 GB: take fewer ranks, or have them use less"
	)
	kills(4)
	s := newSupervisor(Options{Ranks: 8}, &output{})
	checkExplain := func(signal syscall.Signal, want string) {
		t.Helper()
		if got := s.explain(&signalError{signal}).Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	checkExplain(syscall.SIGKILL, plain) // kills before the run do not count
	kills(6)
	checkExplain(syscall.SIGSEGV, "killed by SIGSEGV")
	checkExplain(syscall.SIGKILL, memory)
	checkExplain(syscall.SIGKILL, memory)
	checkExplain(syscall.SIGKILL, plain) // both kills were attributed before
}
