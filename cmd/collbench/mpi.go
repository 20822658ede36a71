package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

//go:embed mpi/collectives.c
var source []byte

// errNoMPI reports that this machine has no MPI to compare with.
var errNoMPI = errors.New("no MPI on this machine: mpicc and mpirun are in the packages libopenmpi-dev and openmpi-bin of Debian")

// mpi is a program that measures collectives of the machine's MPI.
type mpi struct{ program string }

// buildMPI compiles the MPI program that measures collectives. It writes the program to the
// given folder. It returns errNoMPI if mpicc or mpirun is not installed.
func buildMPI(ctx context.Context, folder string) (*mpi, error) {
	for _, tool := range []string{"mpicc", "mpirun"} {
		if _, err := exec.LookPath(tool); err != nil {
			return nil, errNoMPI
		}
	}
	file, m := filepath.Join(folder, "collectives.c"), &mpi{filepath.Join(folder, "collectives")}
	if err := os.WriteFile(file, source, 0o600); err != nil {
		return nil, err
	}
	if out, err := exec.CommandContext(ctx, "mpicc", "-O3", "-march=native", "-o", m.program, file).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("mpicc: %w\n%s", err, out)
	}
	return m, nil
}

// keepMemory is an environment in which malloc does not return memory to the system.
// Returning it takes half of the time of large messages with MPI.
var keepMemory = []string{"MALLOC_MMAP_THRESHOLD_=4294967296", "MALLOC_TRIM_THRESHOLD_=4294967296", "MALLOC_TOP_PAD_=268435456"}

// measure runs the MPI program with the given environment. It measures the cases that are
// collectives with private buffers, and returns their times in microseconds.
func (m *mpi) measure(ctx context.Context, ranks int, cases []Case, env ...string) (map[Case]float64, error) {
	args := []string{"-np", strconv.Itoa(ranks), "--oversubscribe", m.program}
	var requested []Case
	for _, k := range cases {
		if !k.Window && k.Collective != memcpy {
			requested = append(requested, k)
			args = append(args, fmt.Sprintf("%s:%s:%d:%d", k.Collective, k.DType, k.Bytes, k.Iterations))
		}
	}
	cmd := exec.CommandContext(ctx, "mpirun", args...)
	cmd.Env = append(append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("mpirun: %w\n%s", err, stderr.String())
	}
	times := map[Case]float64{}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(requested) {
		return nil, fmt.Errorf("mpirun printed %d lines for %d cases:\n%s", len(lines), len(requested), out)
	}
	for i, line := range lines {
		var micros float64
		var collective, dtype string
		var bytes int
		if _, err := fmt.Sscan(line, &collective, &dtype, &bytes, &micros); err != nil || bytes != requested[i].Bytes {
			return nil, fmt.Errorf("mpirun printed %q for %v", line, requested[i])
		}
		times[requested[i]] = micros
	}
	return times, nil
}
