package analysis

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/simtime"
)

// Trace is a trace in memory.
type Trace struct {
	About      About
	From, To   simtime.Time // times of the first and the last event
	Events     int          // number of events
	processes  []process
	tracks     []track
	slices     []slice         // in the order of the file
	activities []int32         // slices that have an activity number, sorted by number
	names      []string        // of slices, categories, counters and source lines
	Program    *Program        // nil if the trace has none
	launches   []Launch        // sorted by number
	launchOf   map[int32]int64 // from the first slice of a PE in a launch to the launch's number
}

// About is the information about the run that a trace contains.
type About struct {
	Tool     string      `json:"tool"`
	Version  string      `json:"version"`
	Topology string      `json:"topology"` // hash
	Bench    string      `json:"bench,omitempty"`
	Links    []LinkTotal `json:"-"`
}

// Launch is a kernel on a set of PEs, from their common start to the end of the last PE.
type Launch struct {
	Number   int64        `json:"launch"`
	Name     string       `json:"name"`
	Start    simtime.Time `json:"start_ns"`
	Critical simtime.Time `json:"crit_ns"`
	PEs      int64        `json:"pes"`
	Last     string       `json:"pe"` // the PE that ended last
	after    int64        // its last activity
	released int64        // the activity that released it; 0 is none
	slice    int32
}

// Program is the whole program, from the first command of the host to the end of the last
// operation.
type Program struct {
	Start    simtime.Time `json:"start_ns"`
	Makespan simtime.Time `json:"makespan_ns"`
	after    int64        // its last activity
	slice    int32
}

// End returns the time at which the last PE ended.
func (l *Launch) End() simtime.Time { return l.Start + l.Critical }

// process is a PE, the host, a control core, or a set of links.
type process struct {
	pid   int64
	name  string
	named bool
	line  int // of the file: the first event of the process

	launches []int32 // the first slice of each launch, in the order of time
}

// track is a thread of a process.
type track struct {
	tid     int64
	process int32
	engine  Engine
	name    string
	named   bool
}

// slice is an interval of simulated time on a track. A slice with a number is an activity.
type slice struct {
	start, end simtime.Time
	queued     simtime.Time // time that the transfer waited for links
	bytes      int64
	id, after  int64 // an activity's number and the activity that released it; 0 is none
	track      int32
	name       int32
	source     int32 // source line of the kernel: an index into names
	wait       int32 // the CPU's wait that ended when the slice began; -1 if there is none
	line       int32 // of the file
}

// Launches returns the launches of the trace, sorted by number.
func (t *Trace) Launches() []Launch { return t.launches }

// launch returns the index, in t.launches, of the launch with the given number. It returns
// -1 if there is none.
func (t *Trace) launch(number int64) int {
	i, ok := slices.BinarySearchFunc(t.launches, number, func(l Launch, n int64) int { return cmp.Compare(l.Number, n) })
	if !ok {
		return -1
	}
	return i
}

// releaseOf returns the activity that released a launch, or 0. Slice i is the first
// activity of a PE in that launch.
func (t *Trace) releaseOf(i int32) int64 {
	if number, ok := t.launchOf[i]; ok {
		if l := t.launch(number); l >= 0 {
			return t.launches[l].released
		}
	}
	return 0
}

// launchAt returns the number of the launch that a slice belongs to: the last launch that
// the PE of the slice had begun when the slice started. It returns nil for slices of the
// host and of control cores.
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

// activity looks up the activity with the given number. It returns the index of the
// activity's slice, and reports whether the activity exists.
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

// where returns the name of the process that slice s belongs to.
func (t *Trace) where(s *slice) string { return t.processes[t.tracks[s.track].process].name }

// waitPrefix is the prefix of the names of slices in which a CPU waits.
const waitPrefix = "wait: "

// waits reports whether a slice is a wait.
func (t *Trace) waits(s *slice) bool { return strings.HasPrefix(t.names[s.name], waitPrefix) }

// Engine is a part of a PE that has its own tracks.
type Engine int8

// The engines, in the order of reports.
const (
	NoEngine Engine = iota // tracks of the host, of control cores and of links
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

// MarshalText returns the engine's name, for JSON.
func (e Engine) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// engineOf returns the engine whose tracks have the name `family`, or NoEngine if there is
// none.
func engineOf(family string) Engine { return Engine(max(slices.Index(engineNames[:], family), 0)) }

// family returns the name of the track without the number of a subtrack. On tracks of a PE,
// this is the name of the engine.
func (k *track) family() string {
	return strings.TrimRight(strings.TrimRight(k.name, "0123456789"), " ")
}
