package kernbench_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench"
)

var update = flag.Bool("update", false, "rewrite the figures of the documentation")

// run runs a command line of kernbench and returns what it prints.
func run(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := kernbench.Run(t.Context(), args, &out, &errs); code != 0 {
		t.Fatalf("kernbench %s: exit status %d: %s", strings.Join(args, " "), code, errs.String())
	}
	return out.String()
}

// TestConsoleExamples runs the commands in the ```console blocks of README and
// docs and compares what they print; a line "..." stands for all the rest.
func TestConsoleExamples(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := 0
	for _, page := range append(pages, "README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		blocks := strings.Split(string(text), "```console\n$ kernbench ")
		for _, block := range blocks[1:] {
			block, _, _ = strings.Cut(block, "```")
			command, want, _ := strings.Cut(block, "\n")
			got := run(t, strings.Fields(command)...)
			if head, cut := strings.CutSuffix(want, "...\n"); cut {
				want, got = head, got[:min(len(got), len(head))]
			}
			if got != want {
				t.Errorf("%s: kernbench %s prints something else (-page +now):\n%s", page, command, cmp.Diff(want, got))
			}
			examples++
		}
	}
	if examples < 2 {
		t.Errorf("found %d examples, want at least 2", examples)
	}
}

// TestDocFigures keeps the pictures of the documentation true.
func TestDocFigures(t *testing.T) {
	for _, view := range []string{"system", "sip", "cube", "pe"} {
		file := "docs/img/" + view + ".svg"
		got := run(t, "topology", "diagram", "--view", view)
		if *update {
			if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s is not what kernbench draws: run go test . -update", file)
		}
	}
}

// TestLinks follows the relative links of README and docs.
func TestLinks(t *testing.T) {
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "README.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(text), "](")[1:] {
			link, _, _ := strings.Cut(part, ")")
			if strings.Contains(link, "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), link)); err != nil {
				t.Errorf("%s: broken link: %v", page, err)
			}
		}
	}
}
