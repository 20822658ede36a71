package collperf

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/kernbench/kernbench/ccl"
	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// Options is what to measure and on what. Zero values are the defaults unless it says
// otherwise.
type Options struct {
	Backend Backend // "" is Sim

	Collective ccl.Collective
	Algorithm  string          // of the library, Auto or AllAlgorithms; "" is as CCL says, Auto of real ranks
	Reductions []ccl.Reduction // of collectives that reduce; none is sum
	DTypes     []tl.DType      // none is f16
	Root       int             // of rooted collectives; or AllRoots

	Min, Max   topology.Bytes // sizes, from and to
	StepFactor int            // from size to size; 0 is 2
	StepBytes  topology.Bytes // instead of StepFactor, if it is not 0

	Iters   int    // times that are averaged; 0 is 1
	PerRank bool   // rows have the times of every rank
	NoCheck bool   // nothing is compared, and of Sim no values are computed
	Values  Values // "" is Integers

	Timeout time.Duration // wall-clock limit of the whole measurement; 0 is none

	// Of real ranks alone.
	NRanks  int       // needed
	Warmups int       // iterations before those that are measured
	Window  bool      // their buffers lie in a window, where others can read them
	Output  io.Writer `json:"-"` // gets what processes write that panic; nil drops it

	// Of simulated ones alone.
	Topology *topology.Graph     // needed
	CCL      *ccl.Config         // nil is that of package ccl
	RanksPer RanksPer            // "" is PerPE
	World    int                 // ranks; 0 is all there are
	Partial  bool                // an all-reduce of SIPs' tensors that have an addend on each cube
	Buffer   topology.BufferKind // of queue slots; "" is as CCL says
	Flit     bool                // simulate every flit
	Trace    string              // file to record a single row to; "" is none
	Threads  int                 // that compute values, and rows at a time; 0 is one for each core

	// Experiment says what is kept of simulated rows, and which of them are measured: File,
	// Program, Resume, Replace, Strict, Shard, Warn, Begin and Progress. The others follow
	// from the options.
	Experiment experiment.Options `json:"-"`
}

// OptionError is a mistake in one of the options, named as kernbench coll does.
type OptionError struct {
	Option string
	Err    error
}

func (e *OptionError) Error() string { return e.Err.Error() }

// Unwrap returns the mistake.
func (e *OptionError) Unwrap() error { return e.Err }

func mistake(option, format string, args ...any) error {
	return &OptionError{option, fmt.Errorf(format, args...)}
}

// Reductions returns those that need no factor.
func Reductions() []ccl.Reduction {
	return slices.DeleteFunc(ccl.Reductions(), func(r ccl.Reduction) bool { return r == ccl.PremulSum })
}

// Words for algorithms.
const (
	Auto          = "auto" // as the library picks for each size
	AllAlgorithms = "all"  // each that does the collective, compared
)

// AllRoots is each rank as the root, one after the other.
const AllRoots = -1

// RanksPer is what a rank is.
type RanksPer string

// The kinds of ranks.
const (
	PerPE  RanksPer = "pe"
	PerSIP RanksPer = "sip"
)

// Values is what tensors hold.
type Values string

// The kinds of values.
const (
	Integers Values = "integers" // small whole numbers, whose reduction is exact
	Reals    Values = "reals"    // of dtypes that have them, numbers between -1 and 1
)

// largest bounds sizes, so that no product of one overflows.
const largest = topology.Bytes(1) << 40

// mostIters bounds iterations, measured ones and warm-ups alike.
const mostIters = 1_000_000

// Validate reports what is wrong with the options.
func (o *Options) Validate() error {
	ranks, err := o.Ranks()
	if err != nil {
		return err
	}
	switch c := o.Collective; {
	case o.Min < 0 || o.Max > largest:
		return mistake("size", "sizes from %d to %d bytes: write 0 to %d", o.Min, o.Max, largest)
	case o.Min > o.Max:
		return mistake("size", "the smallest size, %d bytes, is more than the largest, %d", o.Min, o.Max)
	case o.StepBytes < 0:
		return mistake("step", "steps of %d bytes: write 1 or more", o.StepBytes)
	case o.StepFactor < 0 || o.StepFactor == 1:
		return mistake("step", "a step factor of %d: write 2 or more", o.StepFactor)
	case o.Iters < 0 || o.Iters > mostIters:
		return mistake("iters", "%d iterations: write 1 to %d", o.Iters, mostIters)
	case o.Warmups < 0 || o.Warmups > mostIters:
		return mistake("warmup-iters", "--warmup-iters %d: write 0 to %d", o.Warmups, mostIters)
	case c.Rooted() && (o.Root >= ranks || o.Root < AllRoots):
		return mistake("root", "no rank %d to be the root: there are 0 to %d", o.Root, ranks-1)
	case c == ccl.SendRecv && ranks < 2:
		return mistake("world", "sendrecv needs two ranks: take a larger system")
	}
	if rows := o.rows(); rows < 0 || rows > mostRows {
		return mistake("size", "%d sizes make %d rows, and there are at most %d: take larger steps (-i or -f), or fewer sizes, types, reductions and roots",
			o.numSizes(), rows, mostRows)
	}
	if o.Real() {
		return o.validateReal(ranks)
	}
	if err := o.validatePartial(); err != nil {
		return err
	}
	if err := o.validateAlgorithm(); err != nil {
		return &OptionError{"algo", err}
	}
	if rows := o.rows(); o.Trace != "" && rows > 1 {
		return mistake("trace", "--trace is of one row, and these are %d: choose one size (-b and -e the same), one algorithm, one type", rows)
	}
	if len(o.series()) == 0 {
		return mistake("op", "there is no %v of %v: avg is for floats, band, bor and bxor for integers", o.reductions()[0], o.dtypes()[0])
	}
	return o.validateValues(ranks)
}

// validateAlgorithm reports what is wrong with the algorithm, or its settings.
func (o *Options) validateAlgorithm() error {
	s, err := o.settings("")
	if err != nil {
		return err
	}
	if err := s.Check(o.Topology.Spec()); err != nil {
		return err
	}
	if o.Algorithm == "" || o.Algorithm == Auto || o.Algorithm == AllAlgorithms {
		return nil
	}
	if _, err = ccl.Find(o.Algorithm, o.Collective); err == nil {
		return nil
	}
	err = fmt.Errorf("%w, %s, %s", err, Auto, AllAlgorithms)
	if slices.Contains(ccl.Names(), o.Algorithm) {
		return err
	}
	return fmt.Errorf("%w%s", err, config.DidYouMean(o.Algorithm, append(o.served(), Auto, AllAlgorithms)))
}

// validatePartial reports what is wrong with partial tensors.
func (o *Options) validatePartial() error {
	switch {
	case !o.Partial:
		return nil
	case o.Collective != ccl.AllReduce:
		return mistake("partial", "%v of partial tensors: only all_reduce makes sense of addends", o.Collective)
	case o.RanksPer != PerSIP:
		return mistake("partial", "partial tensors need ranks that are SIPs, whose cubes have the addends: add --ranks-per sip")
	}
	for _, r := range o.reductions() {
		if r != ccl.Sum && r != ccl.Avg {
			return mistake("partial", "%v of partial tensors, which are the sums of their addends: use sum or avg", r)
		}
	}
	return nil
}

// addends is how many each rank's tensor has.
func (o *Options) addends() int {
	if o.Partial {
		return o.Topology.Spec().CubesPerSIP()
	}
	return 1
}

// algorithms is the names of those to measure.
func (o *Options) algorithms() []string {
	if o.Algorithm != AllAlgorithms {
		return []string{o.Algorithm}
	}
	return o.served()
}

// served is the names of those that do the collective.
func (o *Options) served() []string {
	if o.Real() {
		return o.servedReal()
	}
	return lists.Map(ccl.Algorithms(o.Collective), func(a *ccl.Algorithm) string { return a.Name })
}

// configuration returns the configuration of collectives.
func (o *Options) configuration() *ccl.Config {
	if o.CCL == nil {
		return ccl.Default()
	}
	return o.CCL
}

// settings returns the settings of an algorithm, or of the one that CCL names.
func (o *Options) settings(algorithm string) (ccl.Settings, error) {
	s, err := o.configuration().Named("")
	s.Algorithm = cmp.Or(algorithm, s.Algorithm)
	s.BufferKind = cmp.Or(o.Buffer, s.BufferKind)
	return s, err
}

// Ranks returns how many there are.
func (o *Options) Ranks() (int, error) {
	switch {
	case o.Real() && (o.NRanks < 1 || o.NRanks > mostRanks):
		return 0, fmt.Errorf("--nranks %d: write 1 to %d", o.NRanks, mostRanks)
	case o.Real():
		return o.NRanks, nil
	}
	spec := o.Topology.Spec()
	there, unit := spec.System.SIPs.Count, "SIPs, and a rank is one"
	if o.RanksPer != PerSIP {
		there, unit = there*spec.CubesPerSIP()*spec.PEsPerCube(), "PEs"
	}
	n := cmp.Or(o.World, there)
	if n < 1 || n > there {
		return 0, mistake("world", "a world of %d ranks: the system has %d %s", n, there, unit)
	}
	return n, nil
}

// iters is how often each row is measured.
func (o *Options) iters() int { return max(1, o.Iters) }

// pes returns the PEs that hold the ranks' tensors, or their addends.
func (o *Options) pes(ranks int) []int {
	each, addends, s := 1, o.addends(), o.Topology.Spec()
	if o.RanksPer == PerSIP {
		each = s.CubesPerSIP() * s.PEsPerCube()
	}
	return lists.Make(ranks*addends, func(i int) int { return i/addends*each + i%addends*s.PEsPerCube() })
}

func (o *Options) reductions() []ccl.Reduction {
	if len(o.Reductions) == 0 || !o.Collective.Reduces() {
		return []ccl.Reduction{ccl.Sum}
	}
	return o.Reductions
}

func (o *Options) dtypes() []tl.DType {
	switch {
	case o.Collective == ccl.Barrier:
		return []tl.DType{tl.U8}
	case len(o.DTypes) == 0:
		return []tl.DType{tl.F16}
	}
	return o.DTypes
}

// series is rows that differ in size alone.
type series struct {
	dtype     tl.DType
	reduction ccl.Reduction
	root      int
}

// series is those that there are, without reductions that a dtype has not.
func (o *Options) series() (all []series) {
	first, n := o.Root, 1 // roots
	if !o.Collective.Rooted() {
		first = 0
	} else if o.Root == AllRoots {
		ranks, err := o.Ranks()
		if err != nil {
			return nil
		}
		first, n = 0, ranks
	}
	for _, d := range o.dtypes() {
		for _, r := range o.reductions() {
			has := o.Real() && o.hasReal(r, d) || !o.Real() && (r.Serves(d) || !o.Collective.Reduces())
			if !has {
				continue
			}
			for i := range n {
				all = append(all, series{d, r, first + i})
			}
		}
	}
	return all
}
