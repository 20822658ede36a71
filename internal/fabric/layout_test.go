package fabric

import (
	"reflect"
	"testing"
)

// TestCacheLines checks that the structs of the Train model take whole cache lines of 64
// bytes, so that an element of an array never lies in one line more than necessary.
func TestCacheLines(t *testing.T) {
	for _, c := range []struct {
		v    any
		want uintptr
	}{{linkState{}, 64}, {train{}, 128}, {unlimitedRun{}, 64}, {message{}, 576}, {server{}, 320}} {
		if got := reflect.TypeOf(c.v).Size(); got != c.want {
			t.Errorf("%T has %d bytes, want %d", c.v, got, c.want)
		}
	}
	if size := serverBatch * reflect.TypeFor[server]().Size(); size <= 32<<10 {
		t.Errorf("a batch of servers has %d bytes; only objects above 32 KiB start at a cache line", size)
	}
}
