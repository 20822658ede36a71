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

// TestTutorial does what docs/use/tutorial.md says, in a folder of its own: a go or yaml block
// is the file that was named last before it, a diff block changes lines of one file, until
// the text says to take the change back, and a console block has commands and what they
// print, both outputs, with the exit status as `go run` tells it; "..." stands for anything.
// At the end the folder has to be examples/tutorial, and the pictures those of the page.
func TestTutorial(t *testing.T) {
	const fence = "```"
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	page, example := filepath.Join(root, "docs/use/tutorial.md"), filepath.Join(root, "examples/tutorial")
	want := files(t, example)
	t.Chdir(t.TempDir())
	write(t, "go.mod", strings.Replace(read(t, filepath.Join(example, "go.mod")), "=> ../..", "=> "+root, 1))
	write(t, "go.sum", read(t, filepath.Join(example, "go.sum")))

	r := &reader{t: t, page: page, programs: map[string]string{}}
	parts := strings.Split(read(t, page), fence)
	for i, part := range parts {
		if i%2 == 0 { // text and blocks take turns
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
			parts[i] = "console\n" + r.console(body)
		}
	}
	if diff := cmp.Diff(want, files(t, ".")); diff != "" {
		t.Errorf("who follows %s has other files than %s (-example +reader):\n%s", page, example, diff)
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

// files is the Go and YAML files of a folder.
func files(t *testing.T, dir string) map[string]string {
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

// reader does what a page says in the current folder.
type reader struct {
	t        *testing.T
	page     string
	named    string            // the file that the text named last
	changed  string            // the file of the last diff
	before   string            // what that was before it
	programs map[string]string // what was built, by the sources
	commands int
}

var (
	fileName = regexp.MustCompile("`(\\w+\\.(?:go|yaml))`")
	takeBack = regexp.MustCompile(`ake\s+the\s+change\s+back`)
)

func (r *reader) readProse(text string) {
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

// change applies a diff to the file that has its lines.
func (r *reader) change(diff string) {
	r.t.Helper()
	line, _, _ := strings.Cut(strings.TrimPrefix(diff, "-"), "\n")
	for name, text := range files(r.t, ".") {
		if strings.Contains(text, line+"\n") {
			r.changed, r.before = name, text
			write(r.t, name, change(r.t, text, diff))
			return
		}
	}
	r.t.Fatalf("%s: no file has the line %q", r.page, line)
}

// console runs the commands of a block, and returns it with what they print now if
// that is to be updated.
func (r *reader) console(block string) string {
	r.t.Helper()
	var now strings.Builder
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
		now.WriteString("$ " + command + "\n" + want)
		r.commands++
	}
	return now.String()
}

// run is what a command prints.
func (r *reader) run(command string) string {
	r.t.Helper()
	if command == "go test" {
		cmd := exec.Command("go", "test")
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOPROXY=off", "GOWORK=off")
		out, _ := cmd.CombinedOutput() // says if it failed
		return string(out)
	}
	args, ok := strings.CutPrefix(command, "go run . ")
	if !ok {
		r.t.Fatalf("%s: command %q: want go run . ARGUMENTS, or go test", r.page, command)
	}
	return goRun(r.t, "sh", []string{"-c", r.program() + " " + args}) // which knows of quotes
}

// program is the program of the Go files as they are now.
func (r *reader) program() string {
	r.t.Helper()
	var sources strings.Builder
	for _, name := range []string{"main.go", "twolaps.go"} {
		if text, err := os.ReadFile(name); err == nil { // not all are there from the start
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
