package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"time"
	"unsafe"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/coll"
	"github.com/kernbench/kernbench/comm/launch"
	"github.com/kernbench/kernbench/internal/lists"
)

// measurement is a case with its times in microseconds: medians over the iterations.
type measurement struct {
	Case
	Micros float64   // time of the slowest rank
	Own    float64   // time of the rank that measured it
	Ranks  []float64 // Own of every rank
}

// Case is a collective, or memcpy, with the parameters of its measurement.
type Case struct {
	Collective string // or memcpy
	DType      string // f32 or f16
	Bytes      int    // size of the larger buffer
	Iterations int
	Window     bool // buffers are in a window
}

const job = "collbench"

func init() { launch.Register(job, measureAll) }

// measureProcesses runs all cases with package coll in the given number of processes, one
// for each rank, and returns a measurement for each case.
func measureProcesses(ctx context.Context, ranks int, cases []Case) ([]measurement, error) {
	arg, err := json.Marshal(cases)
	if err != nil {
		return nil, err
	}
	results, err := launch.Run(ctx, launch.Options{Backend: "shm", Ranks: ranks, CPUs: chooseCores(ranks)}, job, arg)
	if err != nil {
		return nil, err
	}
	all := make([][]measurement, ranks)
	for rank, text := range results {
		if err := json.Unmarshal(text, &all[rank]); err != nil {
			return nil, fmt.Errorf("what rank %d found: %w", rank, err)
		}
		for i := range all[0] {
			all[0][i].Ranks = append(all[0][i].Ranks, all[rank][i].Own)
		}
	}
	return all[0], nil
}

// measureAll measures all cases that arg encodes on one rank, as the job of the processes,
// and returns the encoded measurements.
func measureAll(_ context.Context, c *comm.Comm, arg []byte) ([]byte, error) {
	var cases []Case
	if err := json.Unmarshal(arg, &cases); err != nil {
		return nil, err
	}
	g, err := coll.New(c, coll.Options{})
	if err != nil {
		return nil, err
	}
	var all []measurement
	for _, k := range cases {
		m := measurement{Case: k}
		if k.DType == "f16" {
			m.Micros, m.Own, err = measure[coll.F16](g, k)
		} else {
			m.Micros, m.Own, err = measure[float32](g, k)
		}
		if err != nil {
			return nil, fmt.Errorf("%s %s %d: %w", k.Collective, k.DType, k.Bytes, err)
		}
		all = append(all, m)
	}
	return json.Marshal(all)
}

// measure runs case k and returns two medians over its iterations, in microseconds.
// `slowest` is the median of the time of the slowest rank, as in mpi/collectives.c. `own`
// is the median of this rank's own time.
func measure[T float32 | coll.F16](g *coll.Group, k Case) (slowest, own float64, err error) {
	count, ranks := k.Bytes/int(unsafe.Sizeof(T(0))), g.Comm().Size()
	part := count / ranks
	src, dst := make([]T, count), make([]T, count)
	if k.Window {
		w, err := g.Comm().AllocWindow(int64(2*k.Bytes), 0)
		if err != nil {
			return 0, 0, err
		}
		defer w.Close()
		if src, err = coll.Slice[T](w, 0, count); err != nil {
			return 0, 0, err
		}
		if dst, err = coll.Slice[T](w, int64(k.Bytes), count); err != nil {
			return 0, 0, err
		}
	}
	clear(dst)
	var slowestTimes, ownTimes []float64
	for i := -2; i < k.Iterations; i++ {
		for j := range src {
			src[j] = T(1 + (i+j)&7)
		}
		if err := g.Barrier(); err != nil {
			return 0, 0, err
		}
		start := time.Now()
		switch k.Collective {
		case "all_reduce":
			if k.Window { // in place: the data in the window need not be kept
				err = coll.AllReduce(g, src, src, coll.Sum)
			} else {
				err = coll.AllReduce(g, dst, src, coll.Sum)
			}
		case "all_gather":
			err = coll.AllGather(g, dst[:part*ranks], src[:part])
		case "reduce_scatter":
			err = coll.ReduceScatter(g, dst[:part], src[:part*ranks], coll.Sum)
		case "all_to_all":
			err = coll.AllToAll(g, dst[:part*ranks], src[:part*ranks])
		case "broadcast":
			err = coll.Broadcast(g, src, 0)
		case "memcpy":
			copy(dst, src)
		default:
			err = fmt.Errorf("no collective %q", k.Collective)
		}
		elapsed := float64(time.Since(start)) / 1e3
		slowestRank := []float64{elapsed}
		if err == nil {
			err = coll.AllReduce(g, slowestRank, slowestRank, coll.Max)
		}
		if err != nil {
			return 0, 0, err
		}
		if i >= 0 {
			slowestTimes, ownTimes = append(slowestTimes, slowestRank[0]), append(ownTimes, elapsed)
		}
	}
	return median(slowestTimes), median(ownTimes), g.Barrier()
}

// median sorts the list and returns its middle element.
func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// chooseCores returns the core that each rank is bound to. These are the cores that MPI
// chooses. It returns nil if there are fewer cores than ranks.
func chooseCores(ranks int) []int {
	if ranks > runtime.NumCPU() {
		return nil
	}
	return lists.Count(0, ranks)
}
