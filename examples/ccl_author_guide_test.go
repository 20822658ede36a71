package examples_test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAuthorGuide checks docs/write/ccl-author-guide.md. The go blocks of the page together
// must be the program in own-allreduce; the tests of the program may be left out. The yaml
// block must be the configuration in that folder. A diff block changes the program for the
// console blocks after it. A console block must show what the program prints; a last line
// "..." matches the rest of the output.
func TestAuthorGuide(t *testing.T) {
	const page, fence = "../../docs/write/ccl-author-guide.md", "```"
	t.Chdir("own-allreduce")
	files := sources(t)
	hidden, binary, runs := sources(t), build(t, "."), 0 // hidden: what no block has shown yet
	parts := strings.Split(read(t, page), fence)
	for i := 1; i < len(parts); i += 2 { // every other part is a block
		language, body, _ := strings.Cut(parts[i], "\n")
		switch language {
		case "go":
			removeShown(t, hidden, body)
		case "yaml":
			if diff := cmp.Diff(read(t, "ccl.yaml"), body); diff != "" {
				t.Errorf("ccl.yaml of %s is not that of the folder (-folder +page):\n%s", page, diff)
			}
		case "diff":
			binary = buildVariant(t, files, body)
		case "console":
			command, want, _ := strings.Cut(body, "\n")
			args, ok := strings.CutPrefix(command, "$ go run . ")
			if !ok {
				t.Fatalf("%s: console block %q: want $ go run . ARGUMENTS", page, command)
			}
			got := goRun(t, binary, strings.Fields(args))
			if n := strings.Count(want, "\n") - 1; strings.HasSuffix(want, "...\n") && strings.Count(got, "\n") > n {
				got = strings.Join(strings.SplitAfter(got, "\n")[:n], "") + "...\n"
			}
			if *update {
				parts[i] = "console\n" + command + "\n" + got
			} else if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s prints something else (-page +now):\n%s", page, command, diff)
			}
			runs++
		}
	}
	if runs < 5 {
		t.Errorf("%s has %d console blocks, want at least 5", page, runs)
	}
	for name, text := range hidden {
		if strings.TrimSpace(text) != "" && !strings.HasSuffix(name, "_test.go") {
			t.Errorf("%s does not show this of %s:\n%s", page, name, text)
		}
	}
	if *update {
		write(t, page, strings.Join(parts, fence))
	}
}

// TestOwnAllReduce runs the tests of the example own-allreduce, which is a separate module.
func TestOwnAllReduce(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	t.Chdir("own-allreduce")
	sources(t) // so that a change runs the test again
	cmd := exec.Command("go", "test", ".")
	cmd.Env = append(cmd.Environ(), "GOFLAGS=-mod=readonly", "GOPROXY=off", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go test in own-allreduce: %v\n%s", err, out)
	}
}

// sources returns the Go files of the current folder, by name.
func sources(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, name := range names {
		files[name] = read(t, name)
	}
	return files
}

// removeShown removes `block`, a block of the page, from the text of the file that contains
// it. The test fails if no file contains the block.
func removeShown(t *testing.T, files map[string]string, block string) {
	t.Helper()
	for name, text := range files {
		if before, after, found := strings.Cut(text, block); found {
			files[name] = before + after
			return
		}
	}
	t.Errorf("no file of the folder has this, or it has it fewer times than the page:\n%s", block)
}

// buildVariant changes the source text of a program as `diff` says, builds the program and
// returns its path. `files` holds the source files by name.
func buildVariant(t *testing.T, files map[string]string, diff string) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(strings.TrimPrefix(diff, "-"), "\n")
	dir, changed := t.TempDir(), 0
	for name, text := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		if strings.Contains(text, line) {
			text = change(t, text, diff)
			changed++
		}
		write(t, filepath.Join(dir, name), text)
	}
	if changed != 1 {
		t.Fatalf("%d files have the line %q, want one", changed, line)
	}
	write(t, filepath.Join(dir, "go.mod"), strings.Replace(read(t, "go.mod"), "=> ../..", "=> "+root, 1))
	write(t, filepath.Join(dir, "go.sum"), read(t, "go.sum"))
	return build(t, dir)
}
