package cli

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/kernbench/kernbench/internal/printable"
)

// progress tells a person at a terminal that a bench is still running, from the
// second second on, on a line that is gone when something else is written.
type progress struct {
	w     io.Writer
	bench string
	mu    sync.Mutex
	shown bool
	ended chan struct{}
	all   sync.WaitGroup
}

// startProgress begins to tell, if w is a terminal.
func startProgress(w io.Writer, bench string) *progress {
	p := &progress{w: w, bench: printable.Line(bench), ended: make(chan struct{})}
	if isTerminal(w) {
		p.all.Go(p.tell)
	}
	return p
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (p *progress) tell() {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for seconds := 1; ; seconds++ {
		select {
		case <-p.ended:
			return
		case <-ticker.C:
			p.show(seconds)
		}
	}
}

func (p *progress) show(seconds int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.w, "\r%s: running for %d s", p.bench, seconds)
	p.shown = true
}

// Write writes what kernels print.
func (p *progress) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	return p.w.Write(text)
}

// stop ends it.
func (p *progress) stop() {
	close(p.ended)
	p.all.Wait()
	p.clear()
}

func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = false
	}
}
