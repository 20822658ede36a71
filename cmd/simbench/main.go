//go:build unix

// Command simbench measures how fast the simulator is, from single events to whole runs, and
// prints a table. It runs in a checkout, with the Go tools: it builds kernbench and runs
// benchmarks of the module.
//
//	go run ./cmd/simbench
//	go run ./cmd/simbench -run ring -check
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "simbench:", err)
		os.Exit(1)
	}
}

// run parses the flags, measures the selected rows and prints each row when it is measured.
func run(ctx context.Context) error {
	only := flag.String("run", "", "measure only the rows whose name matches this regular expression")
	check := flag.Bool("check", false, "fail if a result misses its limit")
	flag.Parse()
	selected, err := regexp.Compile(*only)
	if err != nil {
		return fmt.Errorf("-run: %w", err)
	}
	folder, err := os.MkdirTemp("", "simbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	b := &bench{folder: folder}
	fmt.Printf("%-58s %12s  %-28s %s\n", "work", "result", "unit", "must be")
	var missed []error
	for _, r := range rows {
		if !selected.MatchString(r.name) {
			continue
		}
		list, err := r.measure(ctx, b)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		for _, got := range list {
			limit := r.limits[got.unit]
			fmt.Printf("%-58s %12.4g  %-28s %s\n", r.name, got.value, got.unit, limit)
			if *check && !limit.holds(got.value) {
				missed = append(missed, fmt.Errorf("%s: %.4g %s, must be %s", r.name, got.value, got.unit, limit))
			}
		}
	}
	return errors.Join(missed...)
}

// result is a measured value with its unit.
type result struct {
	value float64
	unit  string
}

// limit bounds a result. The zero value is no bound.
type limit struct{ least, most float64 }

// holds reports whether v is within the limit.
func (l limit) holds(v float64) bool { return v >= l.least && (l.most == 0 || v <= l.most) }

func (l limit) String() string {
	switch {
	case l.least > 0:
		return fmt.Sprintf(">= %g", l.least)
	case l.most > 0:
		return fmt.Sprintf("<= %g", l.most)
	}
	return ""
}
