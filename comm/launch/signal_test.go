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

// TestSignalledGroup has a rank die of SIGTERM. If the context ends soon after, the signal
// was sent to the launcher as well, and the rank has not failed by itself.
func TestSignalledGroup(t *testing.T) {
	for _, tt := range []struct {
		after time.Duration // until the context ends
		asked bool          // the rank died of a signal that asks programs to end
		want  string
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
			s.events <- event{kind: ended, died: errors.New("killed by SIGTERM"), asked: tt.asked}
			s.wait(ctx)
			if got := s.verdict(); got == nil || got.Error() != tt.want {
				t.Errorf("%+v: got\n%v\nwant\n%s", tt, got, tt.want)
			}
			time.Sleep(tt.after) // until nothing is left that the bubble would wait for
		})
	}
}

// resume writes down what ranks print, and continues a rank that is said to be stopped.
type resume struct {
	bytes.Buffer
	pid int
}

func (r *resume) Write(text []byte) (int, error) {
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

// TestStoppedRank stops a rank that another one waits for. The launcher tells of it, once,
// and the run goes on when the rank does.
func TestStoppedRank(t *testing.T) {
	leavesNothing(t)
	suspendedPeriod = 20 * time.Millisecond
	defer func() { suspendedPeriod = 2 * time.Second }()
	var out resume
	_, err := Run(guarded(t), Options{Ranks: 2, Output: &out}, "fault", trouble{Rank: 1, How: "stop", Rest: "barrier"}.arg(t))
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("rank 1: process %d is stopped, and ranks that need it wait: continue it with kill -CONT %[1]d, or end the run\n", out.pid)
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
