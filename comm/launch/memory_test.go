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

// TestOutOfMemory has a rank use up the memory of its control group: the kernel kills the
// rank and not the launcher, which says why.
func TestOutOfMemory(t *testing.T) {
	leavesNothing(t)
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

// TestVictims has the kernel prefer ranks to the launcher when it looks for memory.
func TestVictims(t *testing.T) {
	got, err := Run(guarded(t), Options{Ranks: 2}, "score", nil)
	if err != nil {
		t.Fatal(err)
	}
	for rank, score := range got {
		if string(score) != "1000\n" {
			t.Errorf("score of rank %d: %q, want 1000", rank, score)
		}
	}
}

// TestExplain has processes die in a system of files: of SIGKILL while the kernel says
// that it has killed some for want of memory, and otherwise.
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
	says := func(signal syscall.Signal, want string) {
		t.Helper()
		if got := s.explain(&signalError{signal}).Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	says(syscall.SIGKILL, plain) // those before do not count
	kills(6)
	says(syscall.SIGSEGV, "killed by SIGSEGV")
	says(syscall.SIGKILL, memory)
	says(syscall.SIGKILL, memory)
	says(syscall.SIGKILL, plain) // the two are accounted for
}
