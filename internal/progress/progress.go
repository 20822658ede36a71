// Package progress shows on standard error how far a command is.
package progress

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/kernbench/kernbench/internal/printable"
)

// Off a terminal the first line of progress comes after firstPause. Pauses double up to
// longestPause.
const (
	firstPause   = 2 * time.Second
	longestPause = 10 * time.Second
)

// Display is a line of text that shows how far a command is. On a terminal the line is redrawn,
// and removed in the end. Elsewhere a new line is written now and then, if the command has told
// how many points there are.
type Display struct {
	w        io.Writer
	name     string
	terminal bool
	begun    time.Time
	ended    chan struct{}
	ticks    sync.WaitGroup

	mu    sync.Mutex // of all below
	done  int        // points
	total int
	left  time.Duration // as told
	told  time.Time     // when the three above came; zero: never
	shown string        // the line on the terminal
	said  time.Time     // when the latest line came, off a terminal
	pause time.Duration // until the next
}

// Start begins to show the progress of the named command on w.
func Start(w io.Writer, name string) *Display { return start(w, name, isTerminal(w)) }

func start(w io.Writer, name string, terminal bool) *Display {
	now := time.Now()
	p := &Display{w: w, name: printable.Line(name), terminal: terminal, begun: now, said: now, pause: firstPause, ended: make(chan struct{})}
	p.ticks.Go(p.tick)
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

// Tell takes in how far the points of an experiment are.
func (p *Display) Tell(done, total int, left time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.total, p.left, p.told = done, total, left, time.Now()
}

// tick shows the line for as long as the command runs.
func (p *Display) tick() {
	ticker := time.NewTicker(time.Second / 4)
	defer ticker.Stop()
	for {
		select {
		case <-p.ended:
			return
		case <-ticker.C:
			p.show()
		}
	}
}

func (p *Display) show() {
	p.mu.Lock()
	defer p.mu.Unlock()
	line := p.line()
	switch {
	case p.terminal && line != p.shown:
		if most := terminalWidth(p.w); most > 0 { // a longer line could not be redrawn
			line = fmt.Sprintf("%.*s", most-1, line)
		}
		p.clear()
		fmt.Fprint(p.w, line)
		p.shown = line
	case !p.terminal && !p.told.IsZero() && time.Since(p.said) >= p.pause:
		fmt.Fprintln(p.w, line)
		p.said, p.pause = time.Now(), min(2*p.pause, longestPause)
	}
}

// line returns the line as it is now: "sweep: 55 of 200 points, about 4m50s left". It is
// empty in the first second of a command that has told nothing.
func (p *Display) line() string {
	points := p.name + ":"
	if !p.told.IsZero() {
		points = fmt.Sprintf("%s: %d of %d points", p.name, p.done, p.total)
		if p.left > 0 {
			left := max(time.Second, (p.left - time.Since(p.told)).Round(time.Second))
			return fmt.Sprintf("%s, about %v left", points, left)
		}
		points += ","
	}
	seconds := int(time.Since(p.begun).Seconds())
	if seconds == 0 && p.told.IsZero() {
		return ""
	}
	return fmt.Sprintf("%s running for %d s", points, seconds)
}

// Write writes to where the progress is shown.
func (p *Display) Write(text []byte) (int, error) { return p.Beside(p.w).Write(text) }

// Beside returns a writer to w, which may be on the same terminal, that keeps texts apart
// from the line of progress.
func (p *Display) Beside(w io.Writer) io.Writer { return besideWriter{p, w} }

type besideWriter struct {
	p *Display
	w io.Writer
}

func (b besideWriter) Write(text []byte) (int, error) {
	b.p.mu.Lock()
	defer b.p.mu.Unlock()
	b.p.clear()
	return b.w.Write(text)
}

// Stop ends the display and removes the line.
func (p *Display) Stop() {
	close(p.ended)
	p.ticks.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

// clear removes the line from the terminal.
func (p *Display) clear() {
	if p.shown != "" {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = ""
	}
}
