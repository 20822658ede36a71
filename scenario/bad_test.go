package scenario

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/kernbench/kernbench/internal/config"
)

var withPosition = regexp.MustCompile(`^bad\.yaml:[1-9][0-9]*:[1-9][0-9]*: `)

// TestBad checks that the errors for mistakes in a scenario are those in testdata/bad.txt.
// In that file, the command `file` defines a scenario. The command `edit` replaces, in this
// scenario, the lines before `=>` by the lines after it. The command `choose` leaves the
// scenario unchanged. The arguments of a command are the choice of the run.
func TestBad(t *testing.T) {
	base, edits := "", 0
	datadriven.RunTest(t, "testdata/bad.txt", func(t *testing.T, d *datadriven.TestData) string {
		text, c := base, parseChoice(t, d)
		switch d.Cmd {
		case "file":
			base = d.Input + "\n"
			text = base
		case "edit":
			edits++
			from, to, ok := strings.Cut(d.Input+"\n", "=>\n")
			if text = strings.Replace(base, strings.TrimSuffix(from, "\n"), strings.TrimSuffix(to, "\n"), 1); !ok || text == base {
				d.Fatalf(t, "nothing to edit")
			}
		}
		err := refusal(text, c)
		if err == nil {
			return "fine"
		}
		var errs config.Errors
		if !errors.As(err, &errs) {
			d.Fatalf(t, "%v: not config.Errors", err)
		}
		for _, e := range errs {
			if d.Cmd == "edit" && !withPosition.MatchString(e.Error()) {
				t.Errorf("%s: no position file:line:column: %v", d.Pos, e)
			}
		}
		return err.Error()
	})
	if edits < 30 {
		t.Errorf("%d bad files, want 30 or more", edits)
	}
}

// refusal parses the text of a scenario, plans it with choice c and returns the error.
func refusal(text string, c Choice) error {
	s, err := Parse("bad.yaml", []byte(text))
	if err == nil {
		_, err = s.Plan(context.Background(), c)
	}
	return err
}

// parseChoice converts the arguments of the test command d to a choice.
func parseChoice(t *testing.T, d *datadriven.TestData) (c Choice) {
	for _, a := range d.CmdArgs {
		value := strings.Join(a.Vals, ",")
		n, err := strconv.Atoi(value)
		switch a.Key {
		case "nranks":
			c.Ranks = n
		case "root":
			c.Root = &n
		case "rounds":
			c.Rounds = n
		case "d":
			c.Devices, err = value, nil
		default:
			c.Params, err = map[string]string{a.Key: value}, nil
		}
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
	}
	return c
}

// TestAllAtOnce checks that one error lists four of the five mistakes in a file. The
// unknown kernel is not listed, because kernels are looked up only if the number of ranks
// is valid.
func TestAllAtOnce(t *testing.T) {
	text := strings.NewReplacer(
		"nranks: 4", "nranks: 65",
		"dtype: f32, shape: [count], placement: window, init", "dtype: f33, shape: [count], placement: window, init",
		"signals: 2", "signals: 2 +",
		"copied, args", "copid, args",
		"[0, 2]", "[2, 2]",
	).Replace(sample)
	var errs config.Errors
	if err := refusal(text, Choice{}); !errors.As(err, &errs) || len(errs) != 4 {
		t.Errorf("got %d mistakes, want 4:\n%v", len(errs), err)
	}
}

// TestUnreadable checks the errors for scenario files that are empty, malformed or too
// large.
func TestUnreadable(t *testing.T) {
	for text, want := range map[string]string{
		"":                 "bad.yaml:1:1: the file is empty: write keys and values",
		"summary: [":       "bad.yaml:1:1: a [ or { is not closed, or a comma is missing",
		"extends: default": "bad.yaml:1:1: extends: unknown key",
	} {
		if err := refusal(text, Choice{}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want it to begin with %s", text, err, want)
		}
	}
	if err := refusal(fmt.Sprintf("summary: %s", strings.Repeat("x", 1<<20)), Choice{}); err == nil {
		t.Error("a file of more than 1 MiB is read")
	}
}
