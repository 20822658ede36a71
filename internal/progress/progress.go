// Package progress shows the progress of a command on standard error.
package progress

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/simtime"
)

// If the output is not a terminal, the first line of progress is written after firstPause.
// Pauses double up to maxPause.
const (
	firstPause = 2 * time.Second
	maxPause   = 10 * time.Second
)

// Display is a line of text that shows the progress of a command. On a terminal the line is
// redrawn, and removed at the end. Otherwise a new line is written after each pause, but
// only if the command reports a number of points.
type Display struct {
	meter    sim.Meter // counts the events of simulated runs
	w        io.Writer
	name     string
	terminal bool
	begun    time.Time
	ended    chan struct{}
	ticks    sync.WaitGroup

	mu      sync.Mutex // protects the fields below
	done    int        // finished points
	total   int        // all points
	left    time.Duration
	updated time.Time     // the latest Update, which set the three fields above; zero: none yet
	shown   string        // the line on the terminal
	written time.Time     // the time of the latest line if w is not a terminal
	pause   time.Duration // from written to the next line
}

// Start begins to show the progress of the named command on w.
func Start(w io.Writer, name string) *Display { return start(w, name, isTerminal(w)) }

func start(w io.Writer, name string, terminal bool) *Display {
	now := time.Now()
	p := &Display{w: w, name: printable.Line(name), terminal: terminal, begun: now, written: now, pause: firstPause, ended: make(chan struct{})}
	p.ticks.Go(p.tick)
	return p
}

// Context returns a context whose simulated runs the display shows.
func (p *Display) Context(ctx context.Context) context.Context { return sim.WithMeter(ctx, &p.meter) }

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Update sets the number of finished points, the number of all points, and the expected
// time until the end. `left` is 0 or negative if that time is not known.
func (p *Display) Update(done, total int, left time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.total, p.left, p.updated = done, total, left, time.Now()
}

// tick draws the line of progress four times per second until the display is stopped.
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
		if most := terminalWidth(p.w); most > 0 { // a line that wraps could not be redrawn
			line = fmt.Sprintf("%.*s", most-1, line)
		}
		p.clear()
		fmt.Fprint(p.w, line)
		p.shown = line
	case !p.terminal && !p.updated.IsZero() && time.Since(p.written) >= p.pause:
		fmt.Fprintln(p.w, line)
		p.written, p.pause = time.Now(), min(2*p.pause, maxPause)
	}
}

// line returns the current text of the line of progress, such as "sweep: 55 of 200 points,
// about 4m50s left". It is empty in the first second of a command that has not called
// Update.
func (p *Display) line() string {
	points := p.name + ":"
	if !p.updated.IsZero() {
		points = fmt.Sprintf("%s: %d of %d points", p.name, p.done, p.total)
		if p.left > 0 {
			left := max(time.Second, (p.left - time.Since(p.updated)).Round(time.Second))
			return fmt.Sprintf("%s, about %v left", points, left)
		}
		points += ","
	}
	seconds := int(time.Since(p.begun).Seconds())
	if seconds == 0 && p.updated.IsZero() {
		return ""
	}
	return fmt.Sprintf("%s running for %d s%s", points, seconds, p.simulated())
}

// simulated returns the progress of a single simulated run, such as ", 9.3 µs simulated, 1.8
// million events/s, about 12s left". The time left is omitted if it is not known when the
// run ends. The result is empty if no events have been counted, or if there are several
// points, whose times differ.
func (p *Display) simulated() string {
	events := p.meter.Events()
	if events == 0 || p.total > 1 {
		return ""
	}
	rate := float64(events) / time.Since(p.begun).Seconds()
	now := float64(p.meter.Now()) / float64(simtime.Microsecond)
	text := fmt.Sprintf(", %.1f µs simulated, %.1f million events/s", now, rate/1e6)
	if time.Since(p.begun) < firstPause {
		return text // a short run needs no estimate, which would take some time itself
	}
	const least = 0.02 // part of a run after which an estimate is useful
	if end := float64(p.meter.Expected()) / float64(simtime.Microsecond); now >= least*end && now < end {
		left := time.Duration(float64(time.Since(p.begun)) * (end - now) / now)
		text += fmt.Sprintf(", about %v left", max(time.Second, left.Round(time.Second)))
	}
	return text
}

// Write removes the line of progress and writes text in its place.
func (p *Display) Write(text []byte) (int, error) { return p.Writer(p.w).Write(text) }

// Writer returns a writer to w, which may be on the same terminal as the display. The
// writer removes the line of progress before each write.
func (p *Display) Writer(w io.Writer) io.Writer { return clearingWriter{p, w} }

type clearingWriter struct {
	p *Display
	w io.Writer
}

func (c clearingWriter) Write(text []byte) (int, error) {
	c.p.mu.Lock()
	defer c.p.mu.Unlock()
	c.p.clear()
	return c.w.Write(text)
}

// Stop ends the display and removes the line of progress.
func (p *Display) Stop() {
	close(p.ended)
	p.ticks.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

// clear removes the line of progress from the terminal.
func (p *Display) clear() {
	if p.shown != "" {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.shown = ""
	}
}
