package coll_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kernbench/kernbench/comm"
	"github.com/kernbench/kernbench/comm/coll"
)

// TestFailure lets rank 1 abort or close in the middle of a program. It checks the error of
// every other rank with checkFailure.
func TestFailure(t *testing.T) {
	const n, bad = 3, 1
	for _, backend := range backends {
		for _, failure := range []string{"abort", "close"} {
			for when := range 6 {
				t.Run(fmt.Sprintf("%s/%s/%d", backend, failure, when), func(t *testing.T) {
					p := randomProgram(uint64(when), n, 12)
					disturb := delayAtRandom(uint64(when), "")
					errs := runGroup(backend, n, p.o, func(g *coll.Group) error {
						m, err := newMemory(g.Comm(), p.memoryBytes)
						if err != nil {
							return err
						}
						pause := disturb(g)
						for i, j := range p.jobs {
							switch {
							case i != when+4 || g.Comm().Rank() != bad:
								err = j.run(g, m, pause)
							case failure == "abort":
								return errors.New("boom")
							default:
								return g.Comm().Close()
							}
							if err != nil {
								return err
							}
						}
						return nil
					})
					for rank, err := range errs {
						if rank != bad {
							checkFailure(t, rank, err, failure)
						}
					}
				})
			}
		}
	}
}

// checkFailure checks err, the error of a rank whose peer has failed. `failure` is "abort"
// or "close". The error must name the rank, a peer, and either the collective and its phase
// or a put or get. It must end with the reason of the failure.
func checkFailure(t *testing.T, rank int, err error, failure string) {
	t.Helper()
	var e *comm.Error
	if !errors.As(err, &e) {
		t.Errorf("rank %d: got %v, want a comm.Error", rank, err)
		return
	}
	inCollective := slices.ContainsFunc(kinds, func(k coll.Kind) bool { return k.String() == e.Op }) && e.Phase != ""
	onData := e.Op == "put" || e.Op == "get" // for memory that cannot be addressed
	if e.Rank != rank || e.Peer < 0 || e.Peer == rank || !inCollective && !onData {
		t.Errorf("rank %d: got %v, want an error that names it, a peer and the phase of a collective", rank, err)
	}
	reason := map[string]string{"abort": "rank 1: abort: boom", "close": "rank 1: it has been closed by that rank"}[failure]
	if !strings.HasSuffix(err.Error(), reason) {
		t.Errorf("rank %d:\n got %v\nwant it to end with %s", rank, err, reason)
	}
}
