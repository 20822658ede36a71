package runner

import (
	"io"
	"os"
	"sync"
	"sync/atomic"
)

// printer is where the ranks of a run print, one at a time. Ranks that are goroutines
// find it by its number. In a process there is none, and what it writes to stderr gets
// there by way of the launcher.
type printer struct {
	sync.Mutex
	to io.Writer
}

func (p *printer) Write(text []byte) (int, error) {
	p.Lock()
	defer p.Unlock()
	return p.to.Write(text)
}

var (
	printers    sync.Map // of *printer, by number
	lastPrinter atomic.Int64
)

// show makes a writer one that ranks can print to; done ends that.
func show(to io.Writer) (number int64, p *printer, done func()) {
	number, p = lastPrinter.Add(1), &printer{to: to}
	printers.Store(number, p)
	return number, p, func() { printers.Delete(number) }
}

// printerOf returns the printer of a number, or stderr in a process of a rank.
func printerOf(number int64) io.Writer {
	if p, ok := printers.Load(number); ok {
		return p.(*printer)
	}
	return os.Stderr
}
