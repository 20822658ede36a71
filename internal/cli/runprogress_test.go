package cli

import (
	"bytes"
	"testing"
)

// TestProgress: the line is gone when kernels print and when the run ends, and
// nothing is shown where nobody looks.
func TestProgress(t *testing.T) {
	var out bytes.Buffer
	p := startProgress(&out, "slow")
	p.show(1)
	p.show(2)
	if _, err := p.Write([]byte("[sip0.cube0.pe0 5ns] hello\n")); err != nil {
		t.Fatal(err)
	}
	p.show(3)
	p.stop()
	want := "\rslow: running for 1 s\rslow: running for 2 s\r\x1b[K[sip0.cube0.pe0 5ns] hello\n\rslow: running for 3 s\r\x1b[K"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	out.Reset()
	startProgress(&out, "fast").stop()
	if out.Len() > 0 {
		t.Errorf("a run that nobody looks at prints %q", out.String())
	}
}
