//go:build linux

package launch

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// startLauncher starts a process that launches ranks, in a new process group, and waits
// until all ranks have begun. It returns the command, its output, and the process IDs of
// the ranks.
func startLauncher(t *testing.T) (cmd *exec.Cmd, out *bufio.Scanner, ranks []int) {
	t.Helper()
	cmd = exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), launcherVariable+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() }) // fails if the process has ended
	out = bufio.NewScanner(pipe)
	return cmd, out, readPIDs(t, out, 4)
}

// TestLauncherKilled checks that the processes of the ranks end when the launcher is
// killed.
func TestLauncherKilled(t *testing.T) {
	checkCleanup(t)
	cmd, _, ranks := startLauncher(t)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Errorf("launcher: %v, want signal: killed", err)
	}
	for _, pid := range ranks {
		eventually(t, func() error { return checkEnded(pid) })
	}
}

// TestInterrupt sends SIGINT to the launcher and all its ranks, as a terminal does. It
// checks that only the launcher reacts to the signal, and that it ends the run.
func TestInterrupt(t *testing.T) {
	checkCleanup(t)
	cmd, out, ranks := startLauncher(t)
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	var text []string
	for out.Scan() {
		text = append(text, out.Text())
	}
	if err := cmd.Wait(); err == nil || err.Error() != "exit status 3" {
		t.Errorf("launcher: %v, want exit status 3", err)
	}
	if len(text) != 2 || !strings.HasPrefix(text[0], "the run was stopped: ") || !strings.Contains(text[1], ": barrier") {
		t.Errorf("launcher says\n%s\nwant that the run was stopped, and where a rank was", strings.Join(text, "\n"))
	}
	for _, pid := range ranks {
		if err := checkEnded(pid); err != nil {
			t.Error(err)
		}
	}
}
