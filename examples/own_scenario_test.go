package examples_test

import (
	"strings"
	"testing"
)

// TestOwnScenario runs the scenario of the example own-scenario, in processes, in
// goroutines and on the simulated machine. The program of the example registers the kernel,
// the inputs and the golden values.
func TestOwnScenario(t *testing.T) {
	read(t, "own-scenario/main.go") // so that a change runs the test again
	read(t, "own-scenario/halo.yaml")
	program := build(t, "own-scenario")
	t.Chdir("own-scenario")
	for _, tt := range []struct{ args, want string }{
		{"run halo.yaml", "300 compared, all right"},
		{"comm run halo.yaml", "300 compared, all right"},
		{"run --nranks 5 --rounds 20 halo.yaml", "10000 compared, all right"},
		{"run halo.yaml --nranks 1 --set n=1", "1 compared, all right"},
		{"run halo.yaml --backend inproc --nranks 8", "800 compared, all right"},
		{"run halo.yaml --backend sim --check race", "300 compared, all right\nraces     no races\n" +
			"          not looked for: accesses of different rounds, those that other inputs would make, Go variables that kernels share"},
	} {
		out, status := run(t, program, strings.Fields(tt.args)...)
		if status != 0 || !strings.HasSuffix(out, tt.want+"\n") {
			t.Errorf("%s: exit status %d, want 0 and an end of %q:\n%s", tt.args, status, tt.want, out)
		}
	}
	// Wrong golden values are reported with the elements that differ.
	wrong := t.TempDir() + "/wrong.yaml"
	write(t, wrong, strings.Replace(read(t, "halo.yaml"), `golden: "func:smooth"`, "golden: 3*i", 1))
	out, status := run(t, program, "run", wrong, "--nranks", "1", "--set", "n=17")
	const want = "kernbench: rank 0, round 0: out[0] is 17, want 0 (1099431936 ulp)\n" +
		"kernbench: rank 0, round 0: out[16] is 31, want 48 (4718592 ulp)\n"
	if status != 1 || !strings.HasSuffix(out, want) {
		t.Errorf("run of wrong golden values: exit status %d, want 1 and an end of\n%sgot\n%s", status, want, out)
	}
}
