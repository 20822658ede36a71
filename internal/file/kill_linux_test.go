package file

import (
	"bufio"
	"os"
	"os/exec"
	"testing"
)

// writeVariable is the environment variable that makes the test program write a file until
// the program is killed. The value of the variable is the name of the file.
const writeVariable = "KERNBENCH_TEST_WRITE"

func TestMain(m *testing.M) {
	if name := os.Getenv(writeVariable); name != "" {
		writeForever(name)
	}
	os.Exit(m.Run())
}

// writeForever writes half of a file, prints "begun", and waits forever.
func writeForever(name string) {
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

// TestKilledWriter kills a process while it replaces a file. It checks that the old file is
// unchanged and that no other file is left.
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
		t.Skip("this file system does not support files without a name")
	}
	put(t, "x", "older")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), writeVariable+"=x")
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
