package comm_test

import (
	"testing"

	"github.com/kernbench/kernbench/comm"
)

func TestWindowBytes(t *testing.T) {
	tests := []struct {
		bytes   int64
		signals int
		want    int64
	}{
		{0, 0, 0},
		{0, 1, 64},
		{1, 0, 8},
		{8, 3, 200},
		{1<<20 + 1, 64, 4096 + 1<<20 + 8},
	}
	for _, test := range tests {
		if got := comm.WindowBytes(test.bytes, test.signals); got != test.want {
			t.Errorf("%d bytes, %d signals: got %v, want %v", test.bytes, test.signals, got, test.want)
		}
	}
}
