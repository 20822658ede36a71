package bench

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/oplog"
	"github.com/kernbench/kernbench/internal/printable"
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
func (r *Result) save(c *torch.Context, name string) error {
	out, err := file.Create(name)
	if err != nil {
		return err
	}
	buffered := bufio.NewWriterSize(out, 1<<16)
	h := oplog.Header{Tool: r.Config.Version, Config: r.Config.Topology.Hash, Notes: map[string]string{"bench": r.Bench}}
	if err = oplog.Encode(buffered, h, c.Log()); err == nil {
		err = buffered.Flush()
	}
	if err != nil {
		return errors.Join(err, out.Discard())
	}
	if err := out.Commit(); err != nil {
		return err
	}
	r.Artifacts = append(r.Artifacts, name)
	reads := ReadsOf(c.Log())
	r.logged = fmt.Sprintf("%s, %s", printable.Count(len(c.Log().Ops), "operation"), printable.Count(reads.Reads, "host read"))
	if reads.Digest != "" {
		r.logged += ", digest " + reads.Digest
	}
	return nil
}
