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
	// Up to here all algorithms are tried; above, links are what counts, and the fastest is
	// that of the largest size tried.
	manyTried topology.Bytes = 4 << 20
	// From here on packets are of 64 KiB, which changes less than 0.1 %, and takes an
	// eighth of the time.
	coarse topology.Bytes = 64 << 20
)

// like is the algorithm nearest to what is known of theirs.
var like = map[string]string{
	"all_reduce ring": "bidirectional_ring", // a reduce-scatter, then an all-gather, both ways round
	"all_reduce line": "ring",               // the same to and fro over a line
	"all_to_all line": "direct",             // chunks for far devices pass those between
}

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

// runBlackhole runs each collective with the algorithm that auto picks, with the fastest,
// and with the one that is most like theirs. call_us is what theirs took longer than that at
// the smallest size of the series: a guess of what a call costs at any size.
func runBlackhole(l *lab, r *Reference) *table.Table {
	var rows []blackholeRow
	var (
		series  string
		fastest string  // algorithm
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
		if size <= manyTried {
			fastest = measure(collperf.AllAlgorithms).Algorithm
		}
		auto, best, same := measure(collperf.Auto), measure(fastest), measure(like[op+" "+fabric])
		if op+" "+fabric != series {
			series, call = op+" "+fabric, theirs-*same.TimeUS
		}
		rows = append(rows, blackholeRow{
			op, r.digits(i, "devices"), fabric, r.digits(i, "size_bytes"), r.digits(i, "time_us"),
			auto.Algorithm, fixed(*auto.TimeUS, 2), ratio(*auto.TimeUS, theirs), best.Algorithm, fixed(*best.TimeUS, 2),
			same.Algorithm, fixed(*same.TimeUS, 2), ratio(*same.TimeUS, theirs),
			fixed(call, 2), ratio(*same.TimeUS+call, theirs),
		})
	}
	return torch.Must(table.From(rows))
}

// blackholeOptions returns the options of a collective on the preset.
func blackholeOptions(l *lab, op, fabric, devices string, size topology.Bytes) collperf.Options {
	var sets []string
	if fabric == "line" {
		sets = []string{"system.sips.topology=line", "system.sips.count=" + devices}
	}
	if size >= coarse {
		sets = append(sets, "system.flit=64KiB", "pe.ipcq.slot_size=64KiB")
	}
	return collperf.Options{Topology: l.system("blackhole", sets...), Collective: torch.Must(ccl.ParseCollective(op)), DTypes: []tl.DType{tl.BF16}}
}
