package examples_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

// TestCommPage builds the two programs shown in docs/write/comm.md and runs them as the
// page says. The first program starts its ranks itself. The second program is started once
// for each rank.
func TestCommPage(t *testing.T) {
	const page = "../docs/write/comm.md"
	var programs []string
	parts := strings.Split(read(t, page), "```")
	for i := 1; i < len(parts); i += 2 { // every other part is a block
		if program, ok := strings.CutPrefix(parts[i], "go\n"); ok && strings.HasPrefix(program, "package main") {
			if len(programs) == 0 {
				programs = append(programs, program, strings.TrimPrefix(parts[i+2], "text\n"))
			} else {
				programs = append(programs, program)
			}
		}
	}
	if len(programs) != 3 {
		t.Fatalf("%s has %d programs and outputs, want 3", page, len(programs))
	}
	if out, status := run(t, buildProgram(t, programs[0], "own-scenario")); out != programs[1] || status != 0 {
		t.Errorf("the first program of %s: exit status %d, and it prints\n%swant\n%s", page, status, out, programs[1])
	}
	named := buildProgram(t, strings.Replace(programs[2], `"my-run"`, fmt.Sprintf(`"page-%d"`, os.Getpid()), 1), "own-scenario")
	var both sync.WaitGroup
	for rank, args := range [][]string{{}, {"x"}} {
		both.Go(func() {
			if out, status := run(t, named, args...); out != fmt.Sprintf("rank %d has [3 20]\n", rank) || status != 0 {
				t.Errorf("the second program of %s as rank %d: exit status %d, and it prints\n%s", page, rank, status, out)
			}
		})
	}
	both.Wait()
}
