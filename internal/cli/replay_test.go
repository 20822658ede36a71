package cli

import (
	"bytes"
	"context"
	"log"
	"os"

	"github.com/kernbench/kernbench/oplog"
)

// forge implements the script command `forge FROM TO`. It copies an op log and changes the
// digest of the first host read.
func forge() {
	log.SetFlags(0)
	file, err := os.ReadFile(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	h, l, err := oplog.Decode(context.Background(), bytes.NewReader(file))
	if err != nil {
		log.Fatal(err)
	}
	for i := range l.Ops {
		if l.Ops[i].Kind == oplog.HostRead {
			l.Ops[i].Digest++
			break
		}
	}
	var out bytes.Buffer
	if err := oplog.Encode(&out, h, l); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(os.Args[2], out.Bytes(), 0o666); err != nil {
		log.Fatal(err)
	}
}
