package analysis

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/simtime"
)

// Trace is a trace in memory: its slices, and what they are on.
type Trace struct {
	About      About
	From, To   simtime.Time // the first and the last instant of it
	Events     int
	processes  []process
	tracks     []track
	slices     []slice // in the order of the file
	activities []int32 // those of slices that have a number, by that
	names      []string
	launches   []Launch        // in the order of their numbers
	launchOf   map[int32]int64 // of slices that say it
}

// About is what the trace says of its run.
type About struct {
	Tool     string      `json:"tool"`
	Version  string      `json:"version"`
	Topology string      `json:"topology"` // hash
	Bench    string      `json:"bench,omitempty"`
	Links    []LinkTotal `json:"-"`
}

// Launch is a kernel on some PEs, from the instant they start to the end of the last.
type Launch struct {
	Number   int64        `json:"launch"`
	Name     string       `json:"name"`
	Start    simtime.Time `json:"start_ns"`
	Critical simtime.Time `json:"crit_ns"`
	PEs      int64        `json:"pes"`
	Last     string       `json:"pe"` // that ended last
	after    int64        // its last activity
	slice    int32
}

// End is when the last PE ended.
func (l *Launch) End() simtime.Time { return l.Start + l.Critical }

// process is a PE, the host, or links that are shown together.
type process struct {
	pid   int64
	name  string
	named bool
	line  int // that mentions it first
}

// track is a thread of a process.
type track struct {
	tid     int64
	process int32
	engine  Engine
	name    string
	named   bool
}

// slice is some time of a track.
type slice struct {
	start, end simtime.Time
	queued     simtime.Time // in front of links
	bytes      int64
	id, after  int64 // of an activity; 0 is none
	track      int32
	name       int32
	wait       int32 // of what the CPU does after a wait: that; otherwise -1
	line       int32 // of the file
}

// Launches are those of the trace, by number.
func (t *Trace) Launches() []Launch { return t.launches }

// activity is the slice of a number.
func (t *Trace) activity(id int64) (int32, bool) {
	i, ok := slices.BinarySearchFunc(t.activities, id, func(i int32, id int64) int {
		return cmp.Compare(t.slices[i].id, id)
	})
	if !ok {
		return -1, false
	}
	return t.activities[i], true
}

func (t *Trace) engine(s *slice) Engine { return t.tracks[s.track].engine }

// where is the name of the process that a slice is in.
func (t *Trace) where(s *slice) string { return t.processes[t.tracks[s.track].process].name }

// waitPrefix begins the names of slices in which a CPU waits.
const waitPrefix = "wait: "

func (t *Trace) waits(s *slice) bool { return strings.HasPrefix(t.names[s.name], waitPrefix) }

// Engine is a part of a PE that has tracks of its own.
type Engine int8

// The engines, in the order of reports.
const (
	NoEngine Engine = iota // of the host, or of links
	CPU
	DMARead
	DMAWrite
	Copy
	Fetch
	GEMM
	Math
	Store
	engines
)

var engineNames = [engines]string{"", "cpu", "dma read", "dma write", "copy", "fetch", "gemm", "math", "store"}

func (e Engine) String() string { return engineNames[e] }

// MarshalText is for JSON.
func (e Engine) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// engineOf is the engine of a thread: its name, and the number of a lane behind it.
func engineOf(thread string) Engine {
	name := strings.TrimRight(strings.TrimRight(thread, "0123456789"), " ")
	return Engine(max(slices.Index(engineNames[:], name), 0))
}
