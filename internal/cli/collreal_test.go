package cli

import (
	"bytes"
	"context"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/kernbench/kernbench/internal/collperf"
	"github.com/kernbench/kernbench/internal/version"
)

// TestMisplacedFlags checks the errors for flags that have no meaning for the ranks that
// --on chooses, for flags that exclude or need each other, and for invalid values.
func TestMisplacedFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--nranks 2":                                      "--nranks is for --on shm and inproc: with --on sim, --world says how many ranks there are",
		"--on sim -w 1":                                   "--warmup-iters is for --on shm and inproc: simulated time needs no warming up",
		"--buffer private":                                "--buffer private is for --on shm and inproc: with --on sim write one of tcm, sram, hbm",
		"--on shm --world 2":                              "--world is for --on sim: with --on shm, --nranks says how many there are",
		"--on inproc --data off":                          "--data is for --on sim: with --on inproc, --check 0 compares no values",
		"--on shm --topology ring6":                       "--topology is for --on sim: with --on shm, leave it out",
		"--on shm --ccl my.yaml":                          "--ccl is for --on sim: with --on shm, leave it out",
		"--on shm --set ccl.defaults.n_slots=4":           "--set is for --on sim: with --on shm, leave it out",
		"--on shm --partial":                              "--partial is for --on sim: with --on shm, leave it out",
		"--on shm --ranks-per pe":                         "--ranks-per is for --on sim: with --on shm, leave it out",
		"--on shm --fidelity flit":                        "--fidelity is for --on sim: with --on shm, leave it out",
		"--on inproc --threads 1":                         "--threads is for --on sim: with --on inproc, leave it out",
		"--on shm --out rows.jsonl":                       "--out is for --on sim: with --on shm, times are measured again in every run and are not kept: print them with --format csv or json",
		"--on inproc --resume":                            "--resume is for --on sim: with --on inproc, times are measured again in every run and are not kept: print them with --format csv or json",
		"--on inproc --replace":                           "--replace is for --on sim: with --on inproc, times are measured again in every run and are not kept: print them with --format csv or json",
		"--on inproc --strict":                            "--strict is for --on sim: with --on inproc, times are measured again in every run and are not kept: print them with --format csv or json",
		"--on shm --shard 1/2":                            "--shard is for --on sim: with --on shm, times are measured again in every run and are not kept: print them with --format csv or json",
		"--resume":                                        "--resume is for --out: add the file that has points",
		"--replace":                                       "--replace is for --out: add the file that has points",
		"--out rows.csv":                                  "--out rows.csv: the results are lines of JSON: write a name that ends in .jsonl",
		"--out r.jsonl --strict":                          "--strict is for --resume: add it",
		"--out r.jsonl --resume --replace":                "--resume and --replace: give one",
		"--out r.jsonl --shard 3/2":                       "--shard: no shard 3 of 2: the first is 1/2 and the last 2/2",
		"-b 8 -e 8 --out r.jsonl --resume --trace t.json": "--resume and --trace: a row that is taken over has no trace: leave out one of them",
		"--on shm -r 1":                                   "--root has no effect: all_reduce has no root: leave it out; it is for reduce, broadcast, gather, scatter",
		"--on inproc -r all":                              "--root has no effect: all_reduce has no root: leave it out; it is for reduce, broadcast, gather, scatter",
		"--on shm --buffer tcm":                           "--buffer tcm is for --on sim: with --on shm write one of private, window",
		"--on shm --nranks 0":                             "--nranks 0: write 1 to 1024",
		"--on shm -w -1":                                  "--warmup-iters -1: write 0 to 1000000",
		"--on shm --algo ring":                            `no algorithm "ring": of all_reduce between real ranks there are direct_one_phase, direct, auto, all; ring is a kernel for the queues of the simulated machine, --on sim`,
		"--on shm -d u8":                                  "there is no sum of u8 between real ranks: use sum, prod, min, max or avg of f16, bf16, f32, f64, i32 or i64",
		"--on shm -n 0":                                   "--iters 0: write 1 or more",
		"--on shm --algo direct -b 16 -e 8":               "the smallest size, 16 bytes, is more than the largest, 8",
		"--on shm -o band -d int32":                       "there is no band of i32 between real ranks: use sum, prod, min, max or avg of f16, bf16, f32, f64, i32 or i64",
		"--on shm --buffer window --algo bogus":           `no algorithm "bogus": of all_reduce in windows there are direct, auto, all`,
	} {
		var out, errs bytes.Buffer
		code := Run(t.Context(), append([]string{"coll", "all_reduce"}, strings.Fields(args)...), &out, &errs)
		if got := errs.String(); code != exitUsage || got != "kernbench: "+want+"\n" || out.Len() > 0 {
			t.Errorf("%s: exit status %d, %q and %q on stdout, want %d, %q and nothing", args, code, got, out.String(), exitUsage, "kernbench: "+want+"\n")
		}
	}
}

// TestUnusedCollFlags checks that flags that a collective does not use are refused, not
// ignored.
func TestUnusedCollFlags(t *testing.T) {
	const movingData = "all_reduce, reduce, broadcast, all_gather, reduce_scatter, all_to_all, gather, scatter, sendrecv"
	for _, tt := range []struct{ line, want string }{
		{"barrier -b 8", "--minbytes has no effect: barrier moves no data: leave it out; it is for " + movingData},
		{"barrier -e 8", "--maxbytes has no effect: barrier moves no data: leave it out; it is for " + movingData},
		{"barrier -f 2", "--stepfactor has no effect: barrier moves no data: leave it out; it is for " + movingData},
		{"barrier -i 8", "--stepbytes has no effect: barrier moves no data: leave it out; it is for " + movingData},
		{"barrier -d f32", "--dtype has no effect: barrier moves no data: leave it out; it is for " + movingData},
		{"barrier -c 0", "--check has no effect: barrier moves no data: leave it out; it is for " + movingData},
		{"barrier --values reals", "--values has no effect: barrier moves no data: leave it out; it is for " + movingData},
		{"barrier --data off", "--data has no effect: barrier moves no data: leave it out; it is for " + movingData},
		{"barrier -d f32 --on shm", "--dtype has no effect: barrier moves no data: leave it out; it is for " + movingData},
		{"barrier --buffer window --on shm", "--buffer has no effect: barrier moves no data: leave it out"},
		{"barrier -o sum", "--op has no effect: barrier reduces nothing: leave it out; it is for all_reduce, reduce, reduce_scatter"},
		{"all_gather -o sum", "--op has no effect: all_gather reduces nothing: leave it out; it is for all_reduce, reduce, reduce_scatter"},
		{"sendrecv -o max", "--op has no effect: sendrecv reduces nothing: leave it out; it is for all_reduce, reduce, reduce_scatter"},
		{"broadcast -o max --on inproc", "--op has no effect: broadcast reduces nothing: leave it out; it is for all_reduce, reduce, reduce_scatter"},
		{"all_to_all -r 0", "--root has no effect: all_to_all has no root: leave it out; it is for reduce, broadcast, gather, scatter"},
		{"all_reduce --data off --check 1", "--check 1 has no effect: --data off computes no values to compare: delete one of them"},
		{"all_reduce --data off --values reals", "--values has no effect: --data off computes no values: delete one of them"},
		{"all_reduce --check 0 --values reals", "--values has no effect: --check 0 computes no values: delete one of them"},
	} {
		code, stdout, stderr := command(t.Context(), append([]string{"coll"}, strings.Fields(tt.line)...)...)
		if code != exitUsage || stderr != "kernbench: "+tt.want+"\n" || stdout != "" {
			t.Errorf("%s: exit status %d, %q and %q on stdout, want %d, %q and nothing", tt.line, code, stderr, stdout, exitUsage, tt.want)
		}
	}
	for _, line := range []string{"barrier", "barrier --algo tree", "barrier --buffer hbm", "all_gather -e 8 -d f32 --data off", "reduce -e 8 -r 1 -o max"} {
		if code, _, stderr := command(t.Context(), append([]string{"coll"}, strings.Fields(line)...)...); code != exitOK {
			t.Errorf("%s: exit status %d: %s", line, code, stderr)
		}
	}
}

// TestRealJSON checks the JSON of a measurement with real ranks, except for the times.
func TestRealJSON(t *testing.T) {
	text := run(t, "coll", "reduce_scatter", "--on", "shm", "--nranks", "3", "-b", "120", "-e", "240", "-n", "2", "-w", "0", "-o", "max", "-d", "int32", "--buffer", "window", "--format", "json")
	m := decode[collperf.Output](t, text)
	c := m.Config
	if m.Collective != "reduce_scatter" || m.Ranks != 3 || m.RanksPer != "" || len(m.Rows) != 2 || m.Wrong == nil || *m.Wrong != 0 || m.AvgBusBW == nil {
		t.Errorf("got %+v, want two rows of reduce_scatter between 3 ranks, nothing wrong", m)
	}
	if c.Version != version.Version || c.On != "shm" || c.NRanks != 3 || c.Cores < 1 || c.Buffer != "window" || c.Iters != 2 || c.Warmups == nil || *c.Warmups != 0 || c.Data != "" || c.Fidelity != "" {
		t.Errorf("config: got %+v, want 3 ranks on shm, buffers in windows, 2 iterations after 0", c)
	}
	if r := m.Rows[1]; r.Size != 240 || r.Count != 20 || r.RedOp != "max" || r.Algorithm != "direct" || *r.TimeUS <= 0 || r.BoundShare != nil || r.BoundKind != "none" {
		t.Errorf("row: got %+v, want 240 bytes, 20 elements each, max, direct, some time, and no bound", r)
	}
}

// TestRealEnds checks that a signal or a closed output ends a measurement with real ranks
// with the same exit status as other commands.
func TestRealEnds(t *testing.T) {
	args := []string{"coll", "all_reduce", "--on", "shm", "-e", "64"}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(Signal{syscall.SIGTERM})
	var errs bytes.Buffer
	if code := Run(ctx, args, io.Discard, &errs); code != exitTerminated || errs.String() != "kernbench: terminated\n" {
		t.Errorf("terminated: exit status %d and %q, want %d and %q", code, errs.String(), exitTerminated, "kernbench: terminated\n")
	}
	errs.Reset()
	if code := Run(t.Context(), args, failing{syscall.EPIPE}, &errs); code != exitClosedPipe || errs.String() != "" {
		t.Errorf("into a closed pipe: exit status %d and %q, want %d and nothing", code, errs.String(), exitClosedPipe)
	}
}
