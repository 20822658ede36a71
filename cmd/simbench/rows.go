//go:build unix

package main

import (
	"context"
	"strings"
)

// row is a piece of work to measure, and the limits of its results by unit.
type row struct {
	name    string
	measure func(ctx context.Context, b *bench) ([]result, error)
	limits  map[string]limit
}

// rows lists what simbench measures, in the order of the table.
var rows = []row{
	benchmarkRow("events, 1,000 pending", "internal/sim", "EventRatio/pending=1000$", "300ms", map[string]limit{"x-faster": {least: 4}}, "ns/ours", "ns/container-heap", "x-faster"),
	benchmarkRow("queue messages of 128 B, 256 PEs", "internal/machine", "QueueMessages/256$", "9x", map[string]limit{perEvents: {least: 50}}, perEvents, "msgs/cpu-s", "bare-events/cpu-s"),
	benchmarkRow("queue messages of 128 B, 16,384 PEs", "internal/machine", "QueueMessages/16384$", "3x", nil, perEvents, "msgs/cpu-s"),
	benchmarkRow("the same, two threads against one", "internal/machine", "Threads$", "5x",
		map[string]limit{"times-as-fast": {least: 1.6}}, "times-as-fast", "s-of-1-thread", "s-of-2-threads"),
	timingRow("ring 1 GiB, 256 SIPs, slots of 1 MiB", ringOver+"256 --set pe.ipcq.slot_size=1MiB --set pe.ipcq.n_slots=4 --set pe.ipcq.max_ports=8", map[string]limit{cpuSeconds: {most: 2}}),
	timingRow("ring 1 GiB, 256 SIPs, slots of the preset", ringOver+"256", map[string]limit{cpuSeconds: {most: 5}}),
	timingRow("ring 1 GiB, 64 SIPs, slots of the preset", ringOver+"64", map[string]limit{cpuSeconds: {most: 2}}),
	timingRow("ring 1 GiB, 1,024 SIPs, messages of 256 KiB", ringOver+"1024 --set ccl.defaults.chunk_bytes=256KiB", map[string]limit{cpuSeconds: {most: 25}, megabytes: {most: 1611}}),
	timingRow("tree 4 KiB, 131,072 PEs of 1,024 SIPs", "coll all_reduce --ranks-per pe --algo tree -b 4K -e 4K -d f32 --data off -t default --set system.sips.count=1024 --set system.sips.topology=torus_2d --set system.sips.w=32 --set system.sips.h=32", map[string]limit{megabytes: {most: 4295}}),
	timingRow("block of Llama-70B, 512 tokens, no values", "run transformer_block --shape llama-70b --tokens 512 --data=off", map[string]limit{cpuSeconds: {most: 12}}),
	valuesRow("all-reduce of 1 MiB on each of 256 PEs, values", "coll all_reduce --ranks-per pe -b 1M -e 1M -d f32", map[string]limit{wallSeconds: {most: 5}, megabytes: {most: 1000}}),
	valuesRow("milestone-1h-gemm, 165 million values", "run milestone-1h-gemm", map[string]limit{wallSeconds: {most: 25}}),
}

// perEvents is the unit of queue messages compared with empty events.
const perEvents = "msgs/1000-bare-events"

// ringOver begins the command of a ring all-reduce of 1 GiB without values; the number of
// SIPs follows.
const ringOver = "coll all_reduce --algo ring -t alpha_beta -b 1G -e 1G -d f32 --data off --threads 1 --set system.sips.count="

// benchmarkRow returns a row with the given metrics of a benchmark.
func benchmarkRow(name, pkg, benchmark, benchtime string, limits map[string]limit, units ...string) row {
	return row{name, func(ctx context.Context, b *bench) ([]result, error) {
		return b.benchmark(ctx, "github.com/kernbench/kernbench/"+pkg, benchmark, benchtime, units)
	}, limits}
}

// timingRow returns a row for a run of kernbench on one thread.
func timingRow(name, args string, limits map[string]limit) row {
	return row{name, func(ctx context.Context, b *bench) ([]result, error) {
		return b.command(ctx, true, strings.Fields(args))
	}, limits}
}

// valuesRow returns a row for a run of kernbench on all cores.
func valuesRow(name, args string, limits map[string]limit) row {
	return row{name, func(ctx context.Context, b *bench) ([]result, error) {
		return b.command(ctx, false, strings.Fields(args))
	}, limits}
}
