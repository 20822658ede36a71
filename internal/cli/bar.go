package cli

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// barPause is how long a bar that is no terminal's is silent.
const barPause = 10 * time.Second

// bar tells how many of some things are done and how long the others will take: as a bar
// at the bottom of a terminal, which is gone in the end, or else as a line now and then.
// What is written to it goes above the bar.
type bar struct {
	w    io.Writer
	name string
	unit string // "points"
	now  func() time.Time

	mu          sync.Mutex
	begun, said time.Time
	first       int // done when it began, in no time
	screen      *mpb.Progress
	drawn       *mpb.Bar
}

// startBar is a bar that shows once it is told of something.
func startBar(w io.Writer, name, unit string) *bar {
	return &bar{w: w, name: name, unit: unit, now: time.Now}
}

// tell takes in how many are done.
func (b *bar) tell(done, total int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.begun.IsZero() {
		b.begun, b.first = b.now(), done
		b.said = b.begun
		if isTerminal(b.w) && hasWidth(b.w) {
			b.draw(total)
		}
	}
	switch {
	case b.drawn != nil:
		b.drawn.SetTotal(int64(total), false)
		b.drawn.SetCurrent(int64(done))
	case b.now().Sub(b.said) >= barPause:
		b.said = b.now()
		fmt.Fprintf(b.w, "%s: %d of %d %s%s\n", b.name, done, total, b.unit, b.left(done, total))
	}
}

// left is how long it will take, as far as can be told.
func (b *bar) left(done, total int) string {
	if done == b.first || done >= total {
		return ""
	}
	each := float64(b.now().Sub(b.begun)) / float64(done-b.first)
	left := time.Duration(each * float64(total-done)).Round(time.Second)
	return fmt.Sprintf(", about %v left", left)
}

func (b *bar) draw(total int) {
	b.screen = mpb.New(mpb.WithOutput(b.w), mpb.WithWidth(72), mpb.WithAutoRefresh())
	b.drawn = b.screen.AddBar(int64(total), mpb.BarRemoveOnComplete(),
		mpb.PrependDecorators(decor.Name(b.name+" ")),
		mpb.AppendDecorators(decor.Any(func(s decor.Statistics) string {
			return fmt.Sprintf(" %d of %d %s%s", s.Current, s.Total, b.unit, b.left(int(s.Current), int(s.Total)))
		})))
}

// Write writes above the bar.
func (b *bar) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.screen != nil {
		return b.screen.Write(text)
	}
	return b.w.Write(text)
}

// stop ends it. Nothing may be told any more.
func (b *bar) stop() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.screen != nil {
		b.drawn.Abort(true)
		b.screen.Wait()
		b.screen = nil
	}
}
