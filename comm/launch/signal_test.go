//go:build linux

package launch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestSignalledGroup checks the error when a rank dies by SIGTERM. If the context ends
// within `grace` after that, the launcher has received the signal, too, and the error must
// say that the run was stopped. If the context ends later, or if the event does not have
// termSignal set, the error is only that of the rank.
func TestSignalledGroup(t *testing.T) {
	for _, tt := range []struct {
		after      time.Duration // time until the context ends
		termSignal bool          // the rank died by a signal that asks programs to end
		want       string
	}{
		{grace / 2, true, "the run was stopped: terminated\nrank 0: killed by SIGTERM"},
		{2 * grace, true, "rank 0: killed by SIGTERM"},
		{grace / 2, false, "rank 0: killed by SIGTERM"},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(tt.after, func() { cancel(errors.New("terminated")) })
			s := newSupervisor(Options{Ranks: 1}, &output{})
			s.add(0, nil)
			s.events <- event{kind: arrived}
			s.events <- event{kind: opened}
			s.events <- event{kind: ended, died: errors.New("killed by SIGTERM"), termSignal: tt.termSignal}
			s.wait(ctx)
			if got := s.runError(); got == nil || got.Error() != tt.want {
				t.Errorf("%+v: got\n%v\nwant\n%s", tt, got, tt.want)
			}
			time.Sleep(tt.after) // until the timer of the synctest bubble has fired
		})
	}
}

// continuer records the output of ranks. It sends SIGCONT to rank 1 when the launcher
// reports that the rank is stopped.
type continuer struct {
	bytes.Buffer
	pid int
}

func (r *continuer) Write(text []byte) (int, error) {
	if word, ok := strings.CutPrefix(string(text), "rank 1: pid "); ok {
		pid, err := strconv.Atoi(strings.TrimSpace(word))
		if err != nil {
			return 0, err
		}
		r.pid = pid
		return len(text), nil
	}
	if strings.Contains(string(text), "is stopped") {
		if err := syscall.Kill(r.pid, syscall.SIGCONT); err != nil {
			return 0, err
		}
	}
	return r.Buffer.Write(text)
}

// TestStoppedRank stops the process of a rank with a signal while another rank waits for
// it. It checks that the launcher reports the stopped process once, and that the run
// succeeds after the process has continued.
func TestStoppedRank(t *testing.T) {
	checkCleanup(t)
	suspendedPeriod = 20 * time.Millisecond
	defer func() { suspendedPeriod = 2 * time.Second }()
	var out continuer
	_, err := Run(withDeadline(t), Options{Ranks: 2, Output: &out}, "fault", trouble{Rank: 1, How: "stop", Rest: "barrier"}.arg(t))
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("rank 1: process %d is stopped, and ranks that need it wait: continue it with kill -CONT %[1]d, or end the run\n", out.pid)
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
