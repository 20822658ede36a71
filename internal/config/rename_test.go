package config

import (
	"testing"
)

// TestResolve checks that Resolve ignores underscores, hyphens and case, prefers the exact
// name, and reports only other spellings.
func TestResolve(t *testing.T) {
	known := []string{"all_reduce", "ring-all_reduce_8", "sendrecv", "AllGather", "all_gather"}
	for _, tt := range []struct {
		word, want string
		reported   bool
	}{
		{"all_reduce", "all_reduce", false},
		{"allreduce", "all_reduce", true},
		{"All-Reduce", "all_reduce", true},
		{"ring_allreduce_8", "ring-all_reduce_8", true},
		{"send_recv", "sendrecv", true},
		{"all_gather", "all_gather", false}, // preferred to AllGather, which also matches
		{"all-gather", "AllGather", true},
		{"allreduces", "", false},
		{"", "", false},
	} {
		var reported [][2]string
		ctx := WithRenamed(t.Context(), func(old, name string) { reported = append(reported, [2]string{old, name}) })
		got, ok := Resolve(ctx, tt.word, known)
		if got != tt.want || ok != (tt.want != "") {
			t.Errorf("%q: got %q, %v, want %q", tt.word, got, ok, tt.want)
		}
		if tt.reported != (len(reported) == 1 && reported[0] == [2]string{tt.word, tt.want}) || !tt.reported && len(reported) > 0 {
			t.Errorf("%q: reported %q, want a report: %v", tt.word, reported, tt.reported)
		}
	}
	if got, ok := Resolve(t.Context(), "allreduce", known); got != "all_reduce" || !ok { // no function in the context
		t.Errorf("got %q, %v", got, ok)
	}
}
