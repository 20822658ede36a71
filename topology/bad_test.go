package topology

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kernbench/kernbench/internal/config"
)

var update = flag.Bool("update", false, "rewrite the golden files and the schema")

// golden compares with a file, or rewrites it under -update.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", file, diff)
	}
}

var placed = regexp.MustCompile(`^[^:]+\.yaml:[1-9][0-9]*:[1-9][0-9]*: `)

// TestBad loads every broken file of testdata/bad and compares the complete
// text of what the user is told.
func TestBad(t *testing.T) {
	t.Chdir("testdata/bad")
	files, err := filepath.Glob("*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			_, err := Load(file)
			var errs config.Errors
			if !errors.As(err, &errs) {
				t.Fatalf("Load gives %v, want config.Errors", err)
			}
			for _, e := range errs {
				if !placed.MatchString(e.Error()) {
					t.Errorf("not placed as file:line:column: %v", e)
				}
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".want", err.Error()+"\n")
		})
	}
}

func TestBadTenAtOnce(t *testing.T) {
	_, err := Load("testdata/bad/ten_mistakes.yaml")
	var errs config.Errors
	if !errors.As(err, &errs) || len(errs) != 10 {
		t.Errorf("got %d errors, want 10:\n%v", len(errs), err)
	}
}
