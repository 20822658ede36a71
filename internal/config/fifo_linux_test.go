package config

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
)

// A FIFO without a writer is an empty file; a pipe is read to its end.
func TestPipes(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := syscall.Mkfifo("fifo.yaml", 0o644); err != nil {
		t.Fatal(err)
	}
	p := Presets{FS: fstest.MapFS{"default.yaml": {Data: []byte(good)}}}
	want := "fifo.yaml:1:1: the file is empty"
	if _, err := p.Load("fifo.yaml", "usual.yaml"); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("a FIFO without a writer: got %v, want %s", err, want)
	}

	// As the shell's <(command): the end of a pipe by its number, whose writer
	// takes its time.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	wrote := make(chan error)
	go func() {
		_, err := w.WriteString("extends: default\n")
		if err == nil {
			_, err = w.WriteString("cores: 5\n")
		}
		w.Close()
		wrote <- err
	}()
	d, err := p.Load(fmt.Sprintf("/dev/fd/%d", r.Fd()), "usual.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := <-wrote; err != nil {
		t.Fatal(err)
	}
	var got machine
	if err := d.Decode(&got, testScalars); err != nil || got.Cores != 5 {
		t.Errorf("through a pipe: %d cores, %v; want 5", got.Cores, err)
	}
}
