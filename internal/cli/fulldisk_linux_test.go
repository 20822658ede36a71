package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func init() { testCommands["fulldisk"] = runOnFullDisk }

// TestFullDisk checks that commands fail with exit status 3 if they write a file to a full
// file system.
func TestFullDisk(t *testing.T) {
	createExitFixtures(t)
	for _, line := range []string{
		"coll barrier --trace FULL/t.json", "run hello_send --trace FULL/t.json", "run hello_send --log FULL/l", "run milestone-1h-ccl --max-elems 128 --data=off --out FULL/m",
		"sweep sweep.yaml --out FULL/s.jsonl", "merge FULL/m.jsonl sweep.1-of-2.jsonl sweep.2-of-2.jsonl",
		"plot sweep.jsonl -x topology -y crit_ns --kind bars -o FULL/p.svg", "plot sweep.jsonl -x topology -y crit_ns --kind bars -o FULL/p.png", "topology diagram -o FULL/d.svg",
		"comm prepare all_reduce FULL/k", "comm run all_reduce --keep FULL/k", "comm run all_reduce --keep FULL/k --backend inproc", "comm run all_reduce --keep FULL/k --backend sim",
		"comm run all_reduce --backend sim --runtime host_build_graph --gantt-svg FULL/g.svg",
	} {
		code, stderr := startOnFullDisk(t, "", line)
		if code != exitFailed || !strings.Contains(stderr, "no space left on device") {
			t.Errorf("%s: exit status %d and %q, want %d and no space left on device", line, code, stderr, exitFailed)
		}
	}
	for _, backend := range []string{"shm", "inproc", "sim"} { // with space only for inputs and golden values
		line := "comm execute FULL/prepared --backend " + backend
		if code, stderr := startOnFullDisk(t, "prepared", line); code != exitFailed || !strings.Contains(stderr, "no space left on device") {
			t.Errorf("%s: exit status %d and %q, want %d and no space left on device", line, code, stderr, exitFailed)
		}
	}
}

// startOnFullDisk starts a process that runs the command line with FULL replaced by a
// folder on a full file system. Only this process sees the file system. `prepared` is a
// folder that is copied there before the file system is filled; "" for none.
// startOnFullDisk returns the exit status and the standard error of the process.
func startOnFullDisk(t *testing.T, prepared, line string) (code int, stderr string) {
	t.Helper()
	at := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	cmd := &exec.Cmd{
		Path: exe, Args: append([]string{"fulldisk", at, prepared}, strings.Fields(strings.ReplaceAll(line, "FULL", at))...), Stderr: &errs,
		SysProcAttr: &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
		},
	}
	err = cmd.Run()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EACCES) {
		t.Skipf("this system does not allow a process to have its own mounts: %v", err)
	}
	if code = cmd.ProcessState.ExitCode(); code == noFullDisk {
		t.Skip(errs.String())
	}
	return code, errs.String()
}

// noFullDisk is the exit status of runOnFullDisk if it cannot mount a file system.
const noFullDisk = 99

// runOnFullDisk runs in the process that startOnFullDisk starts. It mounts and fills a
// small file system and then runs the command line.
func runOnFullDisk() {
	at, prepared := os.Args[1], os.Args[2]
	err := syscall.Mount("none", at, "tmpfs", 0, "size=64k,nr_inodes=200")
	if err != nil {
		fmt.Fprintln(os.Stderr, "mount a file system:", err)
		os.Exit(noFullDisk)
	}
	if prepared != "" {
		err = os.CopyFS(filepath.Join(at, prepared), os.DirFS(prepared))
	}
	if err == nil {
		err = fillDisk(filepath.Join(at, "filler"))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(Run(context.Background(), os.Args[3:], io.Discard, os.Stderr))
}

// fillDisk writes zeros to a new file until the file system is full.
func fillDisk(name string) error {
	f, err := os.Create(name)
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if errors.Is(err, syscall.ENOSPC) {
		err = nil
	}
	return errors.Join(err, f.Close())
}
