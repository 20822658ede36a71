package runner

import (
	"io"
	"os"
	"sync"
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

var printers = struct {
	sync.Mutex
	last  int64
	byNum map[int64]*printer
}{byNum: map[int64]*printer{}}

// show makes a writer one that ranks can print to; done ends that.
func show(to io.Writer) (number int64, p *printer, done func()) {
	printers.Lock()
	defer printers.Unlock()
	printers.last++
	number, p = printers.last, &printer{to: to}
	printers.byNum[number] = p
	return number, p, func() {
		printers.Lock()
		defer printers.Unlock()
		delete(printers.byNum, number)
	}
}

func printerOf(number int64) io.Writer {
	printers.Lock()
	defer printers.Unlock()
	if p := printers.byNum[number]; p != nil {
		return p
	}
	return os.Stderr
}
