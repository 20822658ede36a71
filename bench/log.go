package bench

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"

	"github.com/kernbench/kernbench/internal/oplog"
	"github.com/kernbench/kernbench/internal/report"
	"github.com/kernbench/kernbench/torch"
)

// Reads is what the host read in a run.
type Reads struct {
	Reads  int
	Known  int    // of which the op log has a digest
	Bytes  int64  // that these read
	Digest string // of all of them, in order; "" if there are none
}

// ReadsOf is what the host read in the run of an op log. The digest is the 64-bit
// FNV-1a hash of the digests of the reads.
func ReadsOf(log *oplog.Log) (r Reads) {
	sum := fnv.New64a()
	for i := range log.Ops {
		op := &log.Ops[i]
		if op.Kind != oplog.HostRead {
			continue
		}
		r.Reads++
		if op.Digest == 0 {
			continue
		}
		r.Known++
		for _, a := range op.Mem {
			r.Bytes += a.Bytes()
		}
		sum.Write(binary.BigEndian.AppendUint64(nil, op.Digest)) // never fails
	}
	if r.Known > 0 {
		r.Digest = fmt.Sprintf("%016x", sum.Sum64())
	}
	return r
}

// save writes the op log of a run to a file.
func (r *Result) save(c *torch.Context, file string) error {
	var data bytes.Buffer
	h := oplog.Header{Tool: r.Config.Version, Config: r.Config.Topology.Hash, Notes: map[string]string{"bench": r.Bench}}
	if err := oplog.Encode(&data, h, c.Log()); err != nil {
		return err
	}
	if err := report.WriteFile(file, data.Bytes()); err != nil {
		return err
	}
	r.Artifacts = append(r.Artifacts, file)
	reads := ReadsOf(c.Log())
	r.logged = fmt.Sprintf("%s, %s", count(len(c.Log().Ops), "operation"), count(reads.Reads, "host read"))
	if reads.Digest != "" {
		r.logged += ", digest " + reads.Digest
	}
	return nil
}
