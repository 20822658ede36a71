package kernbench_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestTerminateGroup sends SIGTERM to kernbench and all its ranks, as a job scheduler does.
// It checks that the exit status of kernbench is that of the signal, whether kernbench or
// its ranks end first.
func TestTerminateGroup(t *testing.T) {
	for _, line := range []string{"comm run all_reduce --rounds 1000000", "coll all_reduce --on shm --nranks 4 -n 1000000"} {
		for range 5 {
			var errs bytes.Buffer
			cmd := exec.Command("/proc/self/exe", strings.Fields(line)...)
			cmd.Env = append(os.Environ(), mainVariable+"=1")
			cmd.Stderr = &errs
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			if err := cmd.Start(); err != nil {
				t.Skipf("no process of this program can be started: %v", err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			for len(children(cmd.Process.Pid)) < 4 {
				select {
				case err := <-ended:
					t.Fatalf("%s: ended with %v before its ranks ran: %s", line, err, errs.String())
				case <-time.After(time.Millisecond):
				}
			}
			if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; cmd.ProcessState.ExitCode() != 143 || errs.String() != "kernbench: terminated\n" {
				t.Errorf("%s: %v and %q, want exit status 143 and kernbench: terminated", line, err, errs.String())
			}
		}
	}
}

// children returns the IDs of the processes that the process pid has started.
func children(pid int) (list []string) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, t := range threads {
		text, err := os.ReadFile(t)
		if err == nil { // otherwise the thread has ended
			list = append(list, strings.Fields(string(text))...)
		}
	}
	return list
}
