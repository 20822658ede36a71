package comm_test

import (
	"testing"

	"github.com/kernbench/kernbench/comm"
)

func TestWindowLayout(t *testing.T) {
	tests := []struct {
		bytes   int64
		signals int
		want    comm.Layout
	}{
		{0, 0, comm.Layout{Signals: 0, SignalEvery: 64, Data: 0, Bytes: 0}},
		{0, 1, comm.Layout{Signals: 1, SignalEvery: 64, Data: 64, Bytes: 64}},
		{1, 0, comm.Layout{Signals: 0, SignalEvery: 64, Data: 0, Bytes: 8}},
		{8, 3, comm.Layout{Signals: 3, SignalEvery: 64, Data: 192, Bytes: 200}},
		{1<<20 + 1, 64, comm.Layout{Signals: 64, SignalEvery: 64, Data: 4096, Bytes: 4096 + 1<<20 + 8}},
	}
	for _, test := range tests {
		if got := comm.WindowLayout(test.bytes, test.signals); got != test.want {
			t.Errorf("%d bytes, %d signals: got %+v, want %+v", test.bytes, test.signals, got, test.want)
		}
	}
}
