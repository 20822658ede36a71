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
	Program    *Program        // nil if the trace has none
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
	released int64        // the activity that let it start
	slice    int32
}

// Program is all that the host had done, from its first command to the last end.
type Program struct {
	Start    simtime.Time `json:"start_ns"`
	Makespan simtime.Time `json:"makespan_ns"`
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

	launches []int32 // slices with which launches begin, in the order of time
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
	source     int32 // the line of the kernel, among names
	wait       int32 // of what the CPU does after a wait: that; otherwise -1
	line       int32 // of the file
}

// Launches are those of the trace, by number.
func (t *Trace) Launches() []Launch { return t.launches }

// launch returns the place of a launch in the list, by its number, or -1.
func (t *Trace) launch(number int64) int {
	i, ok := slices.BinarySearchFunc(t.launches, number, func(l Launch, n int64) int { return cmp.Compare(l.Number, n) })
	if !ok {
		return -1
	}
	return i
}

// releaseOf returns the activity that released the launch with which a slice begins, or 0.
func (t *Trace) releaseOf(i int32) int64 {
	if number, ok := t.launchOf[i]; ok {
		if l := t.launch(number); l >= 0 {
			return t.launches[l].released
		}
	}
	return 0
}

// launchAt returns the number of the launch that a slice is in: the one that its PE has begun
// last by then. It is nil for slices of the host and of control cores.
func (t *Trace) launchAt(s *slice) *int64 {
	first := t.processes[t.tracks[s.track].process].launches
	i, _ := slices.BinarySearchFunc(first, s.start, func(i int32, at simtime.Time) int {
		if t.slices[i].start <= at {
			return -1
		}
		return 1
	})
	if i == 0 {
		return nil
	}
	return new(t.launchOf[first[i-1]])
}

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

// engineOf returns the engine whose track has a name.
func engineOf(family string) Engine { return Engine(max(slices.Index(engineNames[:], family), 0)) }

// family returns the name of a track without the number of a lane.
func (k *track) family() string {
	return strings.TrimRight(strings.TrimRight(k.name, "0123456789"), " ")
}
