package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTutorial follows docs/use/tutorial.md in a new folder. A go or yaml block is the
// content of the file that the text before it named last. A diff block changes lines of one
// file, until the text says to take the change back. A console block has commands with the
// output of each command, including standard error and the exit status of `go run`; "..."
// matches any text. At the end the files in the folder must equal those of
// examples/tutorial. The pictures of the page must equal those that the commands have
// drawn.
func TestTutorial(t *testing.T) {
	const fence = "```"
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	page, example := filepath.Join(root, "docs/use/tutorial.md"), filepath.Join(root, "examples/tutorial")
	want := readFiles(t, example)
	t.Chdir(t.TempDir())
	write(t, "go.mod", strings.Replace(read(t, filepath.Join(example, "go.mod")), "=> ../..", "=> "+root, 1))
	write(t, "go.sum", read(t, filepath.Join(example, "go.sum")))

	r := &tutorial{t: t, page: page, programs: map[string]string{}}
	parts := strings.Split(read(t, page), fence)
	for i, part := range parts {
		if i%2 == 0 { // text and blocks alternate
			r.readProse(part)
			continue
		}
		language, body, _ := strings.Cut(part, "\n")
		switch language {
		case "go", "yaml":
			write(t, r.named, body)
		case "diff":
			r.change(body)
		case "console":
			parts[i] = "console\n" + r.runBlock(body)
		}
	}
	if diff := cmp.Diff(want, readFiles(t, ".")); diff != "" {
		t.Errorf("following %s gives other files than %s (-example +tutorial):\n%s", page, example, diff)
	}
	pictures := regexp.MustCompile(`\(\.\./img/(tutorial_(\w+\.svg))\)`).FindAllStringSubmatch(read(t, page), -1)
	for _, picture := range pictures {
		shown, got := filepath.Join(root, "docs/img", picture[1]), read(t, picture[2])
		if *update {
			write(t, shown, got)
		}
		if read(t, shown) != got {
			t.Errorf("%s is not what the commands of %s draw: run go test ./examples -update", shown, page)
		}
	}
	if r.commands < 20 || len(pictures) < 2 {
		t.Errorf("%s has %d commands and %d pictures, want at least 20 and 2", page, r.commands, len(pictures))
	}
	if *update {
		write(t, page, strings.Join(parts, fence))
	}
}

// readFiles returns the Go and YAML files of a folder, by name.
func readFiles(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"*.go", "*.yaml"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			all[filepath.Base(name)] = read(t, name)
		}
	}
	return all
}

// tutorial is the state of following the page in the current folder.
type tutorial struct {
	t        *testing.T
	page     string
	named    string            // the file that the text named last
	changed  string            // the file that the last diff changed; "" if it was restored
	before   string            // content of that file before the diff
	programs map[string]string // paths of built programs, by their source
	commands int               // number of commands run
}

var (
	fileName = regexp.MustCompile("`(\\w+\\.(?:go|yaml))`")
	takeBack = regexp.MustCompile(`ake\s+the\s+change\s+back`)
)

// readProse records the last file that the text between two blocks names. It restores a
// file that a diff has changed if the text says so.
func (r *tutorial) readProse(text string) {
	r.t.Helper()
	if takeBack.MatchString(text) {
		if r.changed == "" {
			r.t.Fatalf("%s: no change to take back:\n%s", r.page, text)
		}
		write(r.t, r.changed, r.before)
		r.changed = ""
	}
	if names := fileName.FindAllStringSubmatch(text, -1); names != nil {
		r.named = names[len(names)-1][1]
	}
}

// change applies a diff to a file in the current folder. It chooses the file that contains
// the first line of the diff.
func (r *tutorial) change(diff string) {
	r.t.Helper()
	line, _, _ := strings.Cut(strings.TrimPrefix(diff, "-"), "\n")
	for name, text := range readFiles(r.t, ".") {
		if strings.Contains(text, line+"\n") {
			r.changed, r.before = name, text
			write(r.t, name, change(r.t, text, diff))
			return
		}
	}
	r.t.Fatalf("%s: no file has the line %q", r.page, line)
}

// runBlock runs the commands of a console block and checks that the block shows their
// output. It returns the block, with the actual output in place of output that does not
// match.
func (r *tutorial) runBlock(block string) string {
	r.t.Helper()
	var updated strings.Builder
	for _, part := range strings.Split("\n"+block, "\n$ ")[1:] {
		command, want, _ := strings.Cut(strings.TrimSuffix(part, "\n")+"\n", "\n")
		got := r.run(command)
		pattern := strings.ReplaceAll(regexp.QuoteMeta(want), `\.\.\.`, "(?s:.*)")
		if !regexp.MustCompile("^" + pattern + "$").MatchString(got) {
			if !*update {
				r.t.Errorf("%s: %s prints something else (-page +now):\n%s", r.page, command, cmp.Diff(want, got))
			}
			want = got
		}
		updated.WriteString("$ " + command + "\n" + want)
		r.commands++
	}
	return updated.String()
}

// run runs a command and returns what it prints.
func (r *tutorial) run(command string) string {
	r.t.Helper()
	if command == "go test" {
		cmd := exec.Command("go", "test")
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOPROXY=off", "GOWORK=off")
		out, _ := cmd.CombinedOutput() // the output says if it failed
		return string(out)
	}
	args, ok := strings.CutPrefix(command, "go run . ")
	if !ok {
		r.t.Fatalf("%s: command %q: want go run . ARGUMENTS, or go test", r.page, command)
	}
	return goRun(r.t, "sh", []string{"-c", r.program() + " " + args}) // the shell handles quotes
}

// program builds the Go files in the current folder, unless the same files have been built
// before, and returns the path of the built program.
func (r *tutorial) program() string {
	r.t.Helper()
	var sources strings.Builder
	for _, name := range []string{"main.go", "twolaps.go"} {
		if text, err := os.ReadFile(name); err == nil { // the page creates the second file later
			sources.Write(text)
		}
	}
	program, built := r.programs[sources.String()]
	if !built {
		program = build(r.t, ".")
		r.programs[sources.String()] = program
	}
	return program
}
