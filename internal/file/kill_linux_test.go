package file

import (
	"bufio"
	"os"
	"os/exec"
	"testing"
)

// killed is the variable that makes the test program a process that writes until it is
// killed.
const killed = "KERNBENCH_TEST_WRITE"

func TestMain(m *testing.M) {
	if name := os.Getenv(killed); name != "" {
		writeForEver(name)
	}
	os.Exit(m.Run())
}

// writeForEver begins a file, says so, and waits.
func writeForEver(name string) {
	w, err := Create(name)
	if err == nil {
		_, err = w.Write([]byte("half of a fi"))
	}
	if err != nil {
		panic(err)
	}
	os.Stdout.WriteString("begun\n")
	select {}
}

// TestKilledWriter: a process that is killed while it writes leaves the old file, and nothing
// else.
func TestKilledWriter(t *testing.T) {
	t.Chdir(t.TempDir())
	probe, err := Create("probe")
	if err != nil {
		t.Fatal(err)
	}
	named := probe.temp != ""
	if err := probe.Discard(); err != nil {
		t.Fatal(err)
	}
	if named {
		t.Skip("this file system has no files without a name")
	}
	put(t, "x", "older")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), killed+"=x")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "begun\n" {
		t.Errorf("got %q, %v", line, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() // killed
	wantFolder(t, map[string]string{"x": "older"})
}
