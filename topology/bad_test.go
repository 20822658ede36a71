package topology

import (
	"errors"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/config/configtest"
)

// position matches the file, line and column at the start of an error.
var position = regexp.MustCompile(`^[^:]+\.yaml:[1-9][0-9]*:[1-9][0-9]*: `)

// TestBad loads every invalid file of testdata/bad and compares the complete error text.
func TestBad(t *testing.T) {
	t.Chdir("testdata/bad")
	files, err := filepath.Glob("*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			_, err := Load(t.Context(), file)
			var errs config.Errors
			if !errors.As(err, &errs) {
				t.Fatalf("Load gives %v, want config.Errors", err)
			}
			for _, e := range errs {
				if !position.MatchString(e.Error()) {
					t.Errorf("does not begin with file:line:column: %v", e)
				}
			}
			configtest.Golden(t, strings.TrimSuffix(file, ".yaml")+".want", err.Error()+"\n")
		})
	}
}

// TestBadAllAtOnce checks the number of mistakes that one load reports.
func TestBadAllAtOnce(t *testing.T) {
	for file, want := range map[string]int{"ten_mistakes.yaml": 10, "three_passes.yaml": 14} {
		_, err := Load(t.Context(), "testdata/bad/"+file)
		var errs config.Errors
		if !errors.As(err, &errs) || len(errs) != want {
			t.Errorf("%s: got %d errors, want %d:\n%v", file, len(errs), want, err)
		}
	}
	// Above the limit of errors there may be more values that could not be decoded, so the
	// rules that need them are not checked.
	many := "overrides:\n" + strings.Repeat("  - {link: host->moon, latency: soon}\n", config.MaxErrors) + "system: none\n"
	if _, err := Parse("many.yaml", []byte(many)); err == nil || strings.Contains(err.Error(), "no link") {
		t.Errorf("names checked in a system that could not be read: %v", err)
	}
	// An invalid --set argument does not hide the other mistakes.
	_, err := Load(t.Context(), "default", "cube", "cube.sram.at=r9c9", "overrides=[{link: host->moon, latency: 1 ns}]")
	var errs config.Errors
	if !errors.As(err, &errs) || len(errs) != 3 {
		t.Errorf("--set: got %d errors, want 3:\n%v", len(errs), err)
	}
}
