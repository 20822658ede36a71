//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// bench runs commands in a temporary folder.
type bench struct {
	folder    string
	kernbench string // the program, once it is built
}

// benchmark runs a benchmark of a package of the module and returns its metrics with the
// given units, in this order.
func (b *bench) benchmark(ctx context.Context, pkg, name, benchtime string, units []string) ([]result, error) {
	out, err := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", name, "-benchtime", benchtime, pkg).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("go test -bench %s %s: %w\n%s", name, pkg, err, out)
	}
	metrics := parseMetrics(string(out))
	var list []result
	for _, unit := range units {
		v, ok := metrics[unit]
		if !ok {
			return nil, fmt.Errorf("benchmark %s of %s reports no %s:\n%s", name, pkg, unit, out)
		}
		list = append(list, result{v, unit})
	}
	return list, nil
}

// parseMetrics returns the metrics of the first benchmark in the output of go test, by unit.
func parseMetrics(out string) map[string]float64 {
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			continue
		}
		metrics := map[string]float64{}
		for i := 2; i+1 < len(fields); i += 2 {
			if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
				metrics[fields[i+1]] = v
			}
		}
		return metrics
	}
	return nil
}

// The units of a run of kernbench.
const (
	cpuSeconds  = "CPU s"
	wallSeconds = "s"
	megabytes   = "MB"
)

// command runs kernbench and returns its CPU time, its wall time and its largest memory. With
// oneThread, Go code runs on one thread at a time.
func (b *bench) command(ctx context.Context, oneThread bool, args []string) ([]result, error) {
	if b.kernbench == "" {
		path := filepath.Join(b.folder, "kernbench")
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", path, "github.com/kernbench/kernbench/cmd/kernbench").CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go build: %w\n%s", err, out)
		}
		b.kernbench = path
	}
	cmd := exec.CommandContext(ctx, b.kernbench, args...)
	cmd.Dir = b.folder
	if oneThread {
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("kernbench %s: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	wall := time.Since(began)
	state := cmd.ProcessState
	list := []result{{(state.UserTime() + state.SystemTime()).Seconds(), cpuSeconds}, {wall.Seconds(), wallSeconds}}
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		unit := 1024.0 // Linux reports KiB
		if runtime.GOOS == "darwin" {
			unit = 1
		}
		list = append(list, result{float64(usage.Maxrss) * unit / 1e6, megabytes})
	}
	return list, nil
}
