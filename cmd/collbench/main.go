// Command collbench compares collectives between processes with those of the machine's MPI.
// In one run it alternates between the two, rewrites the buffers before every iteration,
// and prints medians of the times and ratios.
//
//	go run ./cmd/collbench
//	go run ./cmd/collbench -collectives all_reduce -dtypes f32 -alternations 20 -check
//
// Without an MPI it prints only the times of package coll.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/comm/launch"
	_ "github.com/kernbench/kernbench/comm/shm"
)

func main() {
	launch.Child()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "collbench:", err)
	if errors.As(err, new(*usageError)) {
		os.Exit(2)
	}
	os.Exit(1)
}

// usageError is the error of an invalid flag.
type usageError struct{ error }

// splitKnown splits `words`, the comma-separated value of a flag. It returns an error if
// one of the words is not in `known`.
func splitKnown(flag, words string, known []string) ([]string, error) {
	list := strings.Split(words, ",")
	for _, word := range list {
		if !slices.Contains(known, word) {
			return nil, &usageError{fmt.Errorf("-%s: no %q between processes: there are %s", flag, word, strings.Join(known, ", "))}
		}
	}
	return list, nil
}

// The supported collectives and dtypes, all of which are measured by default.
var (
	allCollectives = []string{"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"}
	allDTypes      = []string{"f32", "f16"}
)

// memcpy is the name of a case in which all ranks copy a buffer at the same time.
const memcpy = "memcpy"

// sizes lists the buffer sizes to measure, and the number of iterations for each size. With
// these numbers, the measurements of all sizes take about the same time.
var sizes = []struct{ bytes, iterations int }{
	{4 << 10, 1000}, {64 << 10, 500}, {1 << 20, 100}, {16 << 20, 12}, {64 << 20, 5},
}

// run parses the flags, measures all requested collectives and prints a table for each
// collective and dtype.
func run(ctx context.Context) error {
	ranks := flag.Int("ranks", 2, "processes")
	alternations := flag.Int("alternations", 10, "how often both are measured")
	collectives := flag.String("collectives", strings.Join(allCollectives, ","), "what is measured; algorithms are those of package coll")
	dtypes := flag.String("dtypes", strings.Join(allDTypes, ","), "of which elements")
	check := flag.Bool("check", false, "fail if all_reduce of f32 between 2 ranks is slower than it has to be")
	perRank := flag.Bool("per-rank", false, "also print the times of every rank")
	flag.Parse()
	types, err := splitKnown("dtypes", *dtypes, allDTypes)
	if err != nil {
		return err
	}
	kinds, err := splitKnown("collectives", *collectives, allCollectives)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "collbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	mpiProgram, err := buildMPI(ctx, folder)
	if errors.Is(err, errNoMPI) {
		fmt.Printf("# %v\n", err)
	} else if err != nil {
		return err
	}
	var tooSlow []error
	for _, dtype := range types {
		for _, collective := range kinds {
			t := table{collective: collective, dtype: dtype, ranks: *ranks}
			for range *alternations {
				if err := t.measure(ctx, mpiProgram); err != nil {
					return err
				}
			}
			t.print()
			if *perRank {
				t.printRanks()
			}
			if *check && *ranks == 2 && collective == "all_reduce" && dtype == "f32" && mpiProgram != nil {
				tooSlow = append(tooSlow, t.check()...)
			}
		}
	}
	return errors.Join(tooSlow...)
}

// table holds the measurements of a collective.
type table struct {
	collective, dtype string
	ranks             int
	rounds            []round
}

// round holds the times of one alternation in microseconds, by case. MPI has only cases
// with private buffers.
type round struct {
	ours map[Case]measurement
	mpi  [2]map[Case]float64 // indexed by plain and tuned; nil without an MPI
}

// The two variants of MPI: with default settings, and with a malloc that keeps its memory.
const plain, tuned = 0, 1

// cases returns three cases for each size: the collective with private buffers, the
// collective with buffers in a window, and a memcpy.
func (t *table) cases() (list []Case) {
	for _, s := range sizes {
		private := Case{Collective: t.collective, DType: t.dtype, Bytes: s.bytes, Iterations: s.iterations}
		window, copied := private, private
		window.Window, copied.Collective = true, memcpy
		list = append(list, private, window, copied)
	}
	return list
}

// measure adds a round to the table: it measures all cases with package coll and, unless
// mpiProgram is nil, with both variants of MPI.
func (t *table) measure(ctx context.Context, mpiProgram *mpi) error {
	r := round{ours: map[Case]measurement{}}
	list, err := measureProcesses(ctx, t.ranks, t.cases())
	if err != nil {
		return err
	}
	for _, m := range list {
		r.ours[m.Case] = m
	}
	for variant, env := range [][]string{plain: nil, tuned: keepMemory} {
		if mpiProgram == nil {
			break
		}
		if r.mpi[variant], err = mpiProgram.measure(ctx, t.ranks, t.cases(), env...); err != nil {
			return err
		}
	}
	t.rounds = append(t.rounds, r)
	return nil
}

// median calls `value` for each round and returns the median of the results.
func (t *table) median(value func(round) float64) float64 {
	var list []float64
	for _, r := range t.rounds {
		list = append(list, value(r))
	}
	return median(list)
}

// print prints a row for each size. The row has the median times in microseconds and the
// ratios to MPI; see ratio.
func (t *table) print() {
	fmt.Printf("\n# %s of %s, %d ranks, medians of %d alternations; times in us\n", t.collective, t.dtype, t.ranks, len(t.rounds))
	fmt.Printf("%10s %10s %10s %10s %10s %10s | %8s %8s %8s %8s\n", "bytes", "private", "window", "mpi", "mpi tuned", "memcpy",
		"private", "window", "/tuned", "/tuned")
	cases := t.cases()
	for i := 0; i < len(cases); i += 3 {
		private, window, copied := cases[i], cases[i+1], cases[i+2]
		time := func(k Case) float64 { return t.median(func(r round) float64 { return r.ours[k].Micros }) }
		fmt.Printf("%10d %10.1f %10.1f ", private.Bytes, time(private), time(window))
		if t.rounds[0].mpi[plain] == nil {
			fmt.Printf("%10s %10s %10.1f |\n", "-", "-", time(copied))
			continue
		}
		fmt.Printf("%10.1f %10.1f %10.1f | %7.2fx %7.2fx %7.2fx %7.2fx\n",
			t.median(func(r round) float64 { return r.mpi[plain][private] }), t.median(func(r round) float64 { return r.mpi[tuned][private] }), time(copied),
			t.ratio(private, plain), t.ratio(window, plain), t.ratio(private, tuned), t.ratio(window, tuned))
	}
}

// printRanks prints the median times of package coll in microseconds for each rank, as that
// rank measured them.
func (t *table) printRanks() {
	fmt.Printf("\n# %s of %s by rank; times in us\n%10s %8s", t.collective, t.dtype, "bytes", "buffer")
	for rank := range t.ranks {
		fmt.Printf(" %10s", fmt.Sprint("rank ", rank))
	}
	fmt.Println()
	for _, k := range t.cases() {
		if k.Collective == memcpy {
			continue
		}
		buffer := "private"
		if k.Window {
			buffer = "window"
		}
		fmt.Printf("%10d %8s", k.Bytes, buffer)
		for rank := range t.ranks {
			fmt.Printf(" %10.1f", t.median(func(r round) float64 { return r.ours[k].Ranks[rank] }))
		}
		fmt.Println()
	}
}

// ratio returns the time of a variant of MPI divided by the time of case k. A ratio of 2
// means that the case takes half the time of MPI. MPI always uses private buffers.
func (t *table) ratio(k Case, variant int) float64 {
	private := k
	private.Window = false
	return t.median(func(r round) float64 { return r.mpi[variant][private] / r.ours[k].Micros })
}

// minRatio says how many times as fast as MPI an all-reduce of f32 must be. The first key
// says whether the buffers are in a window. The second key is their size in bytes.
var minRatio = map[bool]map[int]float64{
	false: {4 << 10: 1, 64 << 10: 1, 1 << 20: 1.2, 16 << 20: 1.2, 64 << 20: 1.2},
	true:  {64 << 10: 2.5, 16 << 20: 5, 64 << 20: 5},
}

// check returns an error for each case whose ratio is smaller than minRatio requires.
func (t *table) check() (tooSlow []error) {
	for _, k := range t.cases() {
		if k.Collective == memcpy {
			continue
		}
		if got, want := t.ratio(k, plain), minRatio[k.Window][k.Bytes]; got < want {
			tooSlow = append(tooSlow, fmt.Errorf("%s of %d bytes, in a window: %v: %.2f times as fast as MPI, want %.2f", k.Collective, k.Bytes, k.Window, got, want))
		}
	}
	return tooSlow
}
