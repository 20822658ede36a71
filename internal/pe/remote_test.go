package pe

import (
	"testing"
	"unsafe"
)

// TestRemoteRequestSize checks that a request takes one cache line in other SIPs.
func TestRemoteRequestSize(t *testing.T) {
	if size := unsafe.Sizeof(remoteRequest{}); size != 64 {
		t.Errorf("a remoteRequest has %d bytes, want 64", size)
	}
}
