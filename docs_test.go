package kernbench_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench"
	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/task"
	"github.com/kernbench/kernbench/torch"
	"github.com/kernbench/kernbench/torch/dist"
)

var update = flag.Bool("update", false, "rewrite the figures and the output of commands in the documentation")

// run runs a command line of kernbench and returns its standard output.
func run(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := kernbench.Run(t.Context(), args, &out, &errs); code != 0 {
		t.Fatalf("kernbench %s: exit status %d: %s", strings.Join(args, " "), code, errs.String())
	}
	return out.String()
}

// TestConsoleExamples runs the commands in the ```console blocks of README and docs and
// checks that they print what the blocks show. A last line "..." matches the rest of the
// output. With -update it rewrites the blocks; the number of lines before "..." stays the
// same.
func TestConsoleExamples(t *testing.T) {
	examples := 0
	for _, page := range pages(t) {
		blocks := strings.Split(read(t, page), "```console\n$ kernbench ")
		for _, block := range blocks[1:] {
			block, _, _ = strings.Cut(block, "```")
			command, want, _ := strings.Cut(block, "\n")
			got := run(t, strings.Fields(command)...)
			if n := strings.Count(want, "\n") - 1; strings.HasSuffix(want, "...\n") && strings.Count(got, "\n") > n {
				got = strings.Join(strings.SplitAfter(got, "\n")[:n], "") + "...\n"
			}
			if got != want && *update {
				text := strings.Replace(read(t, page), "$ kernbench "+block, "$ kernbench "+command+"\n"+got, 1)
				if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != want {
				t.Errorf("%s: kernbench %s prints something else (-page +now):\n%s", page, command, cmp.Diff(want, got))
			}
			examples++
		}
	}
	if examples < 2 {
		t.Errorf("found %d examples, want at least 2", examples)
	}
}

// TestDocFigures checks that the figures in docs equal the figures that kernbench draws.
func TestDocFigures(t *testing.T) {
	pictures := map[string]string{}
	for _, view := range []string{"system", "sip", "cube", "pe"} {
		pictures[view] = run(t, "topology", "diagram", "--view", view)
	}
	for _, name := range []string{"task_chain", "task_fanout", "task_stencil", "treduce_tasks"} {
		pictures[name] = chart(t, name)
	}
	for _, name := range printable.Words(task.Runtimes) { // the same program under each runtime
		pictures["task_"+name] = chart(t, "task_fanout", "--count", "8", "--tile", "16384", "--runtime", name)
	}
	for name, got := range pictures {
		file := "docs/img/" + name + ".svg"
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got != read(t, file) {
			t.Errorf("%s is not what kernbench draws: run go test . -update", file)
		}
	}
}

// chart runs kernbench with a bench of tasks and returns the SVG chart that the run draws.
// `bench` holds the name of the bench and its arguments.
func chart(t *testing.T, bench ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "gantt.svg")
	run(t, append([]string{"run", "--gantt-svg", file}, bench...)...)
	return read(t, file)
}

// TestTaskListing checks that the programs shown in tasks.md are the examples of package
// task. The page shows imports only for the first program.
func TestTaskListing(t *testing.T) {
	const page, source = "docs/write/tasks.md", "task/example_test.go"
	var got []string
	for _, begin := range []string{"package main\n", "// hand puts ", "// give puts ", "// halve halves ", "func main() {\n", "// ringSum makes "} {
		got = append(got, listing(t, page, "go", begin))
	}
	want := strings.Replace(read(t, source), "package task_test", "package main", 1)
	want = regexp.MustCompile(`func Example\w*\(`).ReplaceAllString(want, "func main(")
	if got := strings.Join(got, "\n"); got != want {
		t.Errorf("the programs of %s are not %s (-page +example):\n%s", page, source, cmp.Diff(got, want))
	}
}

// TestTaskTimes runs the commands in the tables of tasks.md. It checks that the makespans
// under the three runtimes, in µs, equal the columns after the command.
func TestTaskTimes(t *testing.T) {
	rows := regexp.MustCompile("(?m)^\\| `kernbench (run task_[^`]*|run treduce_[^`]*)` \\| (.*) \\|$").FindAllStringSubmatch(read(t, "docs/write/tasks.md"), -1)
	if len(rows) < 10 {
		t.Errorf("found %d commands, want at least 10", len(rows))
	}
	for _, row := range rows {
		var result struct {
			Rows []struct {
				Makespan float64 `json:"makespan_ns"`
			}
		}
		if err := json.Unmarshal([]byte(run(t, append(strings.Fields(row[1]), "--data=off", "--format=json")...)), &result); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range result.Rows {
			got = append(got, strconv.FormatFloat(r.Makespan/1000, 'f', 2, 64))
		}
		if got := strings.Join(got, " | "); got != row[2] {
			t.Errorf("docs/write/tasks.md: kernbench %s takes %s, and the page says %s", row[1], got, row[2])
		}
	}
}

// pages returns the paths of all pages of the documentation.
func pages(t *testing.T) []string {
	t.Helper()
	pages := []string{"README.md", "CONTRIBUTING.md"}
	err := filepath.WalkDir("docs", func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".md" {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// TestLinks checks that the relative links of all pages lead to files and headings that
// exist.
func TestLinks(t *testing.T) {
	for _, page := range pages(t) {
		prose := code.ReplaceAllString(read(t, page), "")
		for _, part := range strings.Split(prose, "](")[1:] {
			link, _, _ := strings.Cut(part, ")")
			if strings.Contains(link, "://") {
				continue
			}
			file, heading, _ := strings.Cut(link, "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: broken link: %v", page, err)
			} else if heading != "" && !hasHeading(read(t, target), heading) {
				t.Errorf("%s: broken link: %s has no heading #%s", page, target, heading)
			}
		}
	}
}

// TestGlossary checks that the glossary has each term once, with a definition. TestLinks
// finds links to terms that the glossary does not have.
func TestGlossary(t *testing.T) {
	defined := map[string]bool{}
	terms := strings.Split(read(t, "docs/glossary.md"), "\n### ")[1:]
	for _, entry := range terms {
		term, definition, _ := strings.Cut(entry, "\n")
		definition, _, _ = strings.Cut(definition, "\n## ")
		if defined[term] {
			t.Errorf("the glossary defines %q twice", term)
		}
		defined[term] = true
		if len(strings.Fields(definition)) < 3 {
			t.Errorf("the glossary has no definition of %q", term)
		}
	}
	if len(terms) < 100 {
		t.Errorf("the glossary has %d terms, want at least 100", len(terms))
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var (
	code        = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	notInAnchor = regexp.MustCompile(`[^a-z0-9 _-]`)
)

// hasHeading reports whether a page has a heading with the given anchor.
func hasHeading(page, anchor string) bool {
	for line := range strings.Lines(page) {
		if text := strings.TrimLeft(line, "#"); text != line {
			text = notInAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(text)), "")
			if strings.ReplaceAll(text, " ", "-") == anchor {
				return true
			}
		}
	}
	return false
}

// listing returns a code block of a page: the first block in the given language that begins
// with the text `begin`.
func listing(t *testing.T, page, language, begin string) string {
	t.Helper()
	_, block, found := strings.Cut(read(t, page), "```"+language+"\n"+begin)
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatalf("%s has no %s listing that begins with %q", page, language, begin)
	}
	return begin + block
}

// TestWorkerListing checks that the worker shown in host-api.md is the worker of the bench
// data_parallel. It also checks that the worker has as many lines as the PyTorch original
// on the page, not counting closing braces.
func TestWorkerListing(t *testing.T) {
	const page, source = "docs/write/host-api.md", "bench/builtin/data_parallel.go"
	ours := listing(t, page, "go", "func train(")
	if _, rest, ok := strings.Cut(read(t, source), ours); !ok || !strings.HasSuffix(ours, "\n}\n") || !strings.HasPrefix(rest, "\n") {
		t.Errorf("train in %s is not that of %s:\n%s", page, source, ours)
	}
	lines := 0
	for line := range strings.Lines(ours) {
		if strings.TrimSpace(line) != "}" {
			lines++
		}
	}
	original := listing(t, page, "python", "def train(")
	if got := strings.Count(original, "\n"); got != lines {
		t.Errorf("train in %s has %d lines in PyTorch and %d here", page, got, lines)
	}
}

// TestHostAPIListings checks that each listing in host-api.md is part of the examples of
// packages torch and dist, except for the listing of a bench.
func TestHostAPIListings(t *testing.T) {
	const page = "docs/write/host-api.md"
	margin := regexp.MustCompile(`(?m)^\s+`)
	examples, found := margin.ReplaceAllString(read(t, "torch/example_test.go")+read(t, "torch/dist/example_test.go"), ""), 0
	for _, block := range strings.Split(read(t, page), "```go\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		if strings.HasPrefix(block, "func train(") {
			continue // TestWorkerListing checks it
		}
		if found++; !strings.Contains(examples, "\n"+margin.ReplaceAllString(block, "")) {
			t.Errorf("%s has a listing that the examples of package torch lack:\n%s", page, block)
		}
	}
	if found == 0 {
		t.Errorf("%s has no listing", page)
	}
}

// TestParallelListing checks that each worker shown in tp.md is part of the examples of
// package tp. It also checks that the first worker has as many lines as the Megatron
// original on the page, not counting closing braces and checks of errors.
func TestParallelListing(t *testing.T) {
	const page, source = "docs/write/tp.md", "tp/example_test.go"
	ours := listing(t, page, "go", "func mlp(")
	if !strings.Contains(read(t, source), "\n"+ours+"\n") {
		t.Errorf("mlp in %s is not that of %s:\n%s", page, source, ours)
	}
	if step := listing(t, page, "go", "func step("); !strings.Contains(read(t, source), "\n"+step+"\n") {
		t.Errorf("step in %s is not that of %s:\n%s", page, source, step)
	}
	lines := 0
	for line := range strings.Lines(ours) {
		if line = strings.TrimSpace(line); line != "}" && line != "torch.OK(err)" {
			lines++
		}
	}
	original := listing(t, page, "python", "def mlp(")
	if got := strings.Count(original, "\n"); got != lines {
		t.Errorf("mlp in %s has %d lines in Megatron and %d here", page, got, lines)
	}
}

// TestParallelPageNamesEverything checks that tp.md names all exported functions and
// variables of package tp.
func TestParallelPageNamesEverything(t *testing.T) {
	const page = "docs/write/tp.md"
	text := read(t, page)
	files, err := filepath.Glob("tp/*.go")
	if err != nil {
		t.Fatal(err)
	}
	exported := regexp.MustCompile(`(?m)^(?:func |\t|var )([A-Z]\w*)(?:\(| = )`)
	names := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		for _, found := range exported.FindAllStringSubmatch(read(t, file), -1) {
			if !strings.Contains(text, found[1]) {
				t.Errorf("%s does not name %s of %s", page, found[1], file)
			}
			names++
		}
	}
	if names < 30 {
		t.Errorf("found %d names, want at least 30", names)
	}
}

// TestNamesPageNamesEverything checks that names.md has every function of package dist and
// every method of the types that correspond to types of PyTorch.
func TestNamesPageNamesEverything(t *testing.T) {
	const page = "docs/write/names.md"
	text := read(t, page)
	names := map[string]bool{}
	for _, v := range []any{&torch.Tensor{}, &dist.Work{}, &dist.Group{}, &torch.Launched{}, &torch.Array{}} {
		kind := reflect.TypeOf(v)
		for i := range kind.NumMethod() {
			names[kind.Method(i).Name] = true
		}
	}
	files, err := filepath.Glob("torch/dist/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			for _, found := range regexp.MustCompile(`(?m)^func ([A-Z]\w*)`).FindAllStringSubmatch(read(t, file), -1) {
				names[found[1]] = true
			}
		}
	}
	if len(names) < 100 {
		t.Errorf("found %d names, want at least 100", len(names))
	}
	for name := range names {
		base, _ := strings.CutSuffix(name, "Async") // one row of the page covers all names that end in Async
		if !regexp.MustCompile("\\b" + base + "\\b").MatchString(text) {
			t.Errorf("%s does not name %s", page, name)
		}
	}
}
