package compare

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/collperf"
	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

const (
	// maxTriedSize is the largest size at which all algorithms are tried. Above it the
	// links dominate, so the algorithm that was fastest at the largest size tried is used.
	maxTriedSize topology.Bytes = 4 << 20
	// coarseSize is the size from which packets have 64 KiB. This changes times by less
	// than 0.1 %, and the simulation takes an eighth of the time.
	coarseSize topology.Bytes = 64 << 20
)

// similarAlgorithms maps a collective and a fabric to the kernbench algorithm that is most
// similar to what is known about the algorithm of the reference.
var similarAlgorithms = map[string]string{
	"all_reduce ring": "bidirectional_ring", // a reduce-scatter, then an all-gather, in both directions
	"all_reduce line": "ring",               // the same, back and forth over a line
	"all_to_all line": "direct",             // chunks for distant devices pass through the devices between
}

// blackholeRow is a row of the comparison with the reference blackhole. Best is our fastest
// algorithm, and Like is our algorithm that is most similar to the algorithm of the
// reference.
type blackholeRow struct {
	Op        string      `json:"op" table:",setting,collective"`
	Devices   json.Number `json:"devices" table:",setting"`
	Topology  string      `json:"topology" table:",setting"`
	Size      json.Number `json:"size_bytes" table:"B,setting,message size"`
	Theirs    json.Number `json:"theirs_us" table:"µs,result"`
	Auto      string      `json:"auto" table:",result"`
	AutoUS    json.Number `json:"auto_us" table:"µs,lower"`
	Ratio     json.Number `json:"ratio" table:",result"`
	Best      string      `json:"best" table:",result"`
	BestUS    json.Number `json:"best_us" table:"µs,lower"`
	Like      string      `json:"like" table:",result"`
	LikeUS    json.Number `json:"like_us" table:"µs,lower"`
	LikeRatio json.Number `json:"like_ratio" table:",result"`
	CallUS    json.Number `json:"call_us" table:"µs,result,cost of a call"`
	WithCall  json.Number `json:"with_call_ratio" table:",result"`
}

// runBlackhole measures each collective of the reference with three of our algorithms: the
// one that auto chooses, the fastest one, and the one most similar to the algorithm of the
// reference. Above maxTriedSize it does not search for the fastest algorithm, but takes the
// one that was fastest at the last smaller size. The column call_us estimates the fixed
// cost of a call on the real devices: the published time minus the time of the most similar
// algorithm, at the smallest size.
func runBlackhole(l *measurer, r *Reference) *table.Table {
	var rows []blackholeRow
	var (
		series  string
		fastest string  // name of the algorithm
		call    float64 // µs
	)
	for i := range r.Table.Rows {
		op, fabric, size, theirs := r.Text(i, "op"), r.Text(i, "topology"), topology.Bytes(r.Number(i, "size_bytes")), r.Number(i, "time_us")
		o := blackholeOptions(l, op, fabric, r.Text(i, "devices"), size)
		var measured []collperf.Row // each algorithm once
		measure := func(algorithm string) collperf.Row {
			i := slices.IndexFunc(measured, func(r collperf.Row) bool { return r.Algorithm == algorithm })
			if i < 0 {
				o.Algorithm, i = algorithm, len(measured)
				measured = append(measured, l.measure(fmt.Sprintf("%s of %d bytes on a %s", op, size, fabric), o, size))
			}
			return measured[i]
		}
		if size <= maxTriedSize {
			fastest = measure(collperf.AllAlgorithms).Algorithm
		}
		auto, best, similar := measure(collperf.Auto), measure(fastest), measure(similarAlgorithms[op+" "+fabric])
		if op+" "+fabric != series {
			series, call = op+" "+fabric, theirs-*similar.TimeUS
		}
		rows = append(rows, blackholeRow{
			op, r.digits(i, "devices"), fabric, r.digits(i, "size_bytes"), r.digits(i, "time_us"),
			auto.Algorithm, formatFixed(*auto.TimeUS, 2), ratio(*auto.TimeUS, theirs), best.Algorithm, formatFixed(*best.TimeUS, 2),
			similar.Algorithm, formatFixed(*similar.TimeUS, 2), ratio(*similar.TimeUS, theirs),
			formatFixed(call, 2), ratio(*similar.TimeUS+call, theirs),
		})
	}
	return torch.Must(table.From(rows))
}

// blackholeOptions returns the options to measure the collective `op` on the preset
// blackhole with the given fabric. The number of devices is set only if the fabric is a
// line. If `size` is at least coarseSize, packets are larger, so that the simulation takes
// less time. A message is a packet, as on the device.
func blackholeOptions(l *measurer, op, fabric, devices string, size topology.Bytes) collperf.Options {
	var sets []string
	packet := "8KiB"
	if fabric == "line" {
		sets = []string{"system.sips.topology=line", "system.sips.count=" + devices}
	}
	if size >= coarseSize {
		packet = "64KiB"
		sets = append(sets, "system.flit=64KiB", "pe.ipcq.slot_size=64KiB")
	}
	config := torch.Must(ccl.Load(l.ctx, "default", "defaults.chunk_bytes="+packet))
	return collperf.Options{Topology: l.system("blackhole", sets...), CCL: config, Collective: torch.Must(ccl.ParseCollective(op)), DTypes: []tl.DType{tl.BF16}}
}
