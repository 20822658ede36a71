package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/kernbench/kernbench"
)

// TestTwoLaps checks every element that every rank has after an all-reduce by two_laps.
func TestTwoLaps(t *testing.T) {
	for _, flags := range []string{
		"--world 1 -b 0 -e 5000 -i 2500",
		"--world 2 -b 0 -e 5000 -i 2500 -o all -d all",
		"--world 3 -b 4 -e 100000 -f 5 --values reals",
		"--world 8 -b 100000 -e 100000 --set ccl.defaults.n_slots=1",
		"--world 64 -b 10000 -e 10000",
	} {
		var out, errs bytes.Buffer
		args := strings.Fields("coll all_reduce --algo two_laps --ranks-per pe " + flags)
		if status := kernbench.Run(t.Context(), args, &out, &errs); status != 0 {
			t.Errorf("%s: exit status %d\n%s%s", flags, status, &out, &errs)
		}
	}
}
