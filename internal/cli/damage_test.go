package cli

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/internal/version"
)

// small is the file of a sweep with four points.
const small = `bench: task_chain
data: off
params: {runtime: tensormap_and_ringbuffer}
grid:
  - {key: params.count, values: [1, 2, 3, 4]}
`

// TestDamagedResults checks that every command that reads results refuses a damaged file
// and does not change it. A missing point is not damage: depending on the command, the
// point is run again, or the file is refused or read with a warning.
func TestDamagedResults(t *testing.T) {
	t.Chdir(t.TempDir())
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	put("small.yaml", small)
	run(t, "sweep", "small.yaml", "--out", "good.jsonl")
	run(t, "sweep", "small.yaml", "--out", "other.jsonl", "--set", "pe.math.clock=2GHz")
	run(t, "sweep", "small.yaml", "--shard", "1/2", "--out", "shard.jsonl")
	good, other := wholeLines(t, "good.jsonl"), wholeLines(t, "other.jsonl")
	flip := func(line string, at int) string {
		b := []byte(line)
		b[at] ^= 4
		return string(b)
	}
	replaceLine := func(i int, line string) []string {
		lines := slices.Clone(good)
		lines[i] = line
		return lines
	}
	digit := strings.LastIndex(good[2], "crit_ns") + len(`crit_ns":`)
	commands := [][]string{
		{"sweep", "small.yaml", "--resume", "--out", "bad.jsonl"},
		{"merge", "merged.jsonl", "bad.jsonl"},
		{"merge", "bad.jsonl", "shard.jsonl", "--partial"},
		{"plot", "bad.jsonl", "-x", "params.count", "-y", "crit_ns", "-o", "bad.svg"},
		{"compare", "bad.jsonl", "good.jsonl"},
		{"compare", "good.jsonl", "bad.jsonl"},
	}
	for _, tt := range []struct {
		name  string
		lines []string
		want  string // in the error
	}{
		{"bit of a row", replaceLine(2, flip(good[2], digit)), "bad.jsonl:3: damaged: its checksum is wrong"},
		{"bit of a setting", replaceLine(2, flip(good[2], strings.Index(good[2], `"2"`)+1)), "bad.jsonl:3: damaged: its checksum is wrong"},
		{"bit of a checksum", replaceLine(2, flip(good[2], len(good[2])-4)), "bad.jsonl:3: damaged: "},
		{"bit of the identity", replaceLine(0, flip(good[0], 30)), "bad.jsonl:1: damaged: its checksum is wrong"},
		{"bit of a newline", replaceLine(2, flip(good[2], len(good[2])-1)), "bad.jsonl:3: damaged: "},
		{"a row twice", append(slices.Clone(good), good[2]), "bad.jsonl:6: point 1 again, which line 3 has"},
		{"a row of another sweep", replaceLine(2, other[2]), "bad.jsonl:3: damaged: its checksum is wrong"},
		{"no checksum", replaceLine(2, good[2][:strings.Index(good[2], `,"sum"`)]+"}\n"), "bad.jsonl:3: damaged: not as a sweep writes it"},
		{"zeros", replaceLine(2, strings.Repeat("\x00", len(good[2]))), "bad.jsonl:3: damaged: "},
		{"text behind the end", append(slices.Clone(good), "more\n"), "bad.jsonl:6: damaged: "},
		{"header gone", good[1:], ""},
	} {
		for _, args := range commands {
			put("bad.jsonl", strings.Join(tt.lines, ""))
			var out, errs bytes.Buffer
			code := Run(t.Context(), args, &out, &errs)
			if code != exitUsage || !strings.Contains(errs.String(), tt.want) || errs.Len() == 0 {
				t.Errorf("%s: kernbench %v: exit status %d, want %d and %q in\n%s", tt.name, args, code, exitUsage, tt.want, errs.String())
			}
			if text, err := os.ReadFile("bad.jsonl"); err != nil || string(text) != strings.Join(tt.lines, "") {
				t.Errorf("%s: kernbench %v has changed the file: %v", tt.name, args, err)
			}
		}
	}
	// Files with a missing point: sweep --resume runs it, merge refuses, plot and compare
	// warn.
	for _, lines := range [][]string{good[:4], append(slices.Clone(good[:4]), good[4][:len(good[4])-1]), append(slices.Clone(good[:2]), good[3:]...)} {
		for i, want := range []struct {
			code int
			text string
		}{
			{exitOK, ""},
			{exitUsage, "1 of 4 points are in none of the files: "},
			{exitUsage, "bad.jsonl has points of this sweep that none of the files has, and would lose them"},
			{exitOK, "kernbench: warning: bad.jsonl has no rows of 1 point: kernbench sweep --resume runs what is missing"},
			{exitOK, "kernbench: warning: bad.jsonl has no rows of 1 point"},
			{exitWrong, "kernbench: warning: bad.jsonl has no rows of 1 point"},
		} {
			put("bad.jsonl", strings.Join(lines, ""))
			var out, errs bytes.Buffer
			if code := Run(t.Context(), commands[i], &out, &errs); code != want.code || !strings.Contains(errs.String(), want.text) {
				t.Errorf("kernbench %v: exit status %d, want %d and %q in\n%s", commands[i], code, want.code, want.text, errs.String())
			}
			if i == 0 && !slices.Equal(wholeLines(t, "bad.jsonl"), good) {
				t.Errorf("after --resume the file is\n%s", strings.Join(wholeLines(t, "bad.jsonl"), ""))
			}
		}
	}
}

// TestAnotherBuild continues a sweep whose finished points come from another build of the
// program, and merges such points with points of this build. It checks that the points are
// kept with a warning, and refused with --strict. The file has the format of an early
// version, without checksums.
func TestAnotherBuild(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("small.yaml", []byte(small), 0o666); err != nil {
		t.Fatal(err)
	}
	run(t, "sweep", "small.yaml")
	text := strings.Join(wholeLines(t, "small.jsonl"), "")
	text = regexp.MustCompile(`,"sum":"[0-9a-f]{8}"|"programs":[^ ]* [0-9a-f]*"\],`).ReplaceAllString(text, "")
	text = strings.Replace(text, `"identity":"`, `"identity":"kernbench 0.0.1, program 0123456789ab, `, 1)
	if err := os.WriteFile("early.jsonl", []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	program, err := version.Program()
	if err != nil {
		t.Fatal(err)
	}
	const both = "of another build of the program (0.0.1 0123456789ab, and this is "
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"sweep small.yaml --resume --out early.jsonl", exitOK, "kernbench: warning: early.jsonl has points " + both + program + "): they are kept, since the points and their configuration are the same; --strict refuses them"},
		{"sweep small.yaml --resume --strict --out early.jsonl", exitUsage, "kernbench: early.jsonl has points " + both + program + "): leave out --strict to keep them, or --resume to start the file again"},
		{"merge all.jsonl early.jsonl small.jsonl", exitOK, "kernbench: warning: the points are of different builds of the program (0.0.1 0123456789ab, " + program + "): --strict refuses them"},
		{"merge --strict all.jsonl early.jsonl small.jsonl", exitUsage, "kernbench: the points are of different builds of the program (0.0.1 0123456789ab, " + program + "): leave out --strict to put them together"},
	} {
		var out, errs bytes.Buffer
		code := Run(t.Context(), strings.Fields(tt.args), &out, &errs)
		if code != tt.code || !strings.Contains(errs.String(), tt.want+"\n") {
			t.Errorf("kernbench %s: exit status %d, want %d and %s in\n%s", tt.args, code, tt.code, tt.want, errs.String())
		}
	}
}
