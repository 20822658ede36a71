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

// Options describe what to measure, and on what. A zero value means the default, unless a
// field says otherwise.
type Options struct {
	Backend Backend // "" means Sim

	Collective ccl.Collective
	Algorithm  string          // an algorithm of the library, Auto or AllAlgorithms; "" means as in CCL, and Auto for real ranks
	Reductions []ccl.Reduction // for collectives that reduce; empty means sum
	DTypes     []tl.DType      // empty means f16
	Root       int             // root of rooted collectives, or AllRoots

	Min, Max   topology.Bytes // smallest and largest size
	StepFactor int            // factor from size to size; 0 means 2
	StepBytes  topology.Bytes // difference from size to size; replaces StepFactor if it is not 0

	Iters   int    // iterations that are averaged; 0 means 1
	PerRank bool   // add the time of every rank to rows
	NoCheck bool   // do not check values; with Sim, do not compute them
	Values  Values // "" means Integers

	Timeout time.Duration // wall-clock limit of the whole measurement; 0 means no limit

	// Real ranks only.
	NRanks  int       // number of ranks; required
	Warmups int       // iterations before the measured ones
	Window  bool      // buffers are in a window, which other ranks can read
	Output  io.Writer `json:"-"` // receives the output of processes that panic; nil discards it

	// Simulated ranks only.
	Topology *topology.Graph     // required
	CCL      *ccl.Config         // nil means the default of package ccl
	RanksPer RanksPer            // "" means PerPE
	World    int                 // number of ranks; 0 means all of the system
	Partial  bool                // all-reduce tensors of SIPs that have an addend on each cube
	Buffer   topology.BufferKind // memory of queue slots; "" means as in CCL
	Flit     bool                // simulate every flit
	Trace    string              // trace file of a single row; "" means none
	Threads  int                 // rows that run at the same time, and threads of a row; 0 means one for each core

	// Experiment determines which simulated rows are measured and stored: File, Program,
	// Resume, Replace, Strict, Shard, Warn, Begin and Progress. The other fields are set
	// from the options.
	Experiment experiment.Options `json:"-"`
}

// OptionError is a mistake in an option. Option is the name of the flag of kernbench coll.
type OptionError struct {
	Option string
	Err    error
}

func (e *OptionError) Error() string { return e.Err.Error() }

// Unwrap returns the error without the name of the option.
func (e *OptionError) Unwrap() error { return e.Err }

// optionErrorf returns an OptionError for the given option, with a formatted message.
func optionErrorf(option, format string, args ...any) error {
	return &OptionError{option, fmt.Errorf(format, args...)}
}

// Reductions returns all reductions that need no factor.
func Reductions() []ccl.Reduction {
	return slices.DeleteFunc(ccl.Reductions(), func(r ccl.Reduction) bool { return r == ccl.PremulSum })
}

// Words for algorithms.
const (
	Auto          = "auto" // the algorithm that the library picks for each size
	AllAlgorithms = "all"  // a comparison of all algorithms that perform the collective
)

// AllRoots is the value of Options.Root that measures each rank as the root, one after
// another.
const AllRoots = -1

// RanksPer is the part of the machine that a rank is.
type RanksPer string

// The kinds of ranks.
const (
	PerPE  RanksPer = "pe"
	PerSIP RanksPer = "sip"
)

// Values is the kind of values that tensors hold.
type Values string

// The kinds of values.
const (
	Integers Values = "integers" // small whole numbers, whose reduction is exact
	Reals    Values = "reals"    // real numbers between -1 and 1, for floating-point dtypes
)

// maxSize is the maximum size. Products with a size do not overflow.
const maxSize = topology.Bytes(1) << 40

// maxIters is the maximum number of iterations, and of warm-up iterations.
const maxIters = 1_000_000

// Validate returns an error for the first mistake in the options.
func (o *Options) Validate() error {
	ranks, err := o.Ranks()
	if err != nil {
		return err
	}
	switch c := o.Collective; {
	case o.Min < 0 || o.Max > maxSize:
		return optionErrorf("size", "sizes from %d to %d bytes: write 0 to %d", o.Min, o.Max, maxSize)
	case o.Min > o.Max:
		return optionErrorf("size", "the smallest size, %d bytes, is more than the largest, %d", o.Min, o.Max)
	case o.StepBytes < 0:
		return optionErrorf("step", "steps of %d bytes: write 1 or more", o.StepBytes)
	case o.StepFactor < 0 || o.StepFactor == 1:
		return optionErrorf("step", "a step factor of %d: write 2 or more", o.StepFactor)
	case o.Iters < 0 || o.Iters > maxIters:
		return optionErrorf("iters", "%d iterations: write 1 to %d", o.Iters, maxIters)
	case o.Warmups < 0 || o.Warmups > maxIters:
		return optionErrorf("warmup-iters", "--warmup-iters %d: write 0 to %d", o.Warmups, maxIters)
	case c.Rooted() && (o.Root >= ranks || o.Root < AllRoots):
		return optionErrorf("root", "no rank %d to be the root: there are 0 to %d", o.Root, ranks-1)
	case c == ccl.SendRecv && ranks < 2:
		return optionErrorf("world", "sendrecv needs two ranks: take a larger system")
	}
	if rows := o.rows(); rows < 0 || rows > maxRows {
		return optionErrorf("size", "%d sizes make %d rows, and there are at most %d: take larger steps (-i or -f), or fewer sizes, types, reductions and roots",
			o.numSizes(), rows, maxRows)
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
		return optionErrorf("trace", "--trace records one row, and there are %d: choose one size (-b and -e the same), one algorithm, one type", rows)
	}
	if len(o.series()) == 0 {
		return optionErrorf("op", "there is no %v of %v: avg is for floats, band, bor and bxor for integers", o.reductions()[0], o.dtypes()[0])
	}
	return o.validateValues(ranks)
}

// validateAlgorithm returns an error if the algorithm does not exist, does not perform the
// collective, or has invalid settings.
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
	return fmt.Errorf("%w%s", err, config.DidYouMean(o.Algorithm, append(o.allAlgorithms(), Auto, AllAlgorithms)))
}

// validatePartial returns an error if an option cannot be combined with partial tensors.
func (o *Options) validatePartial() error {
	switch {
	case !o.Partial:
		return nil
	case o.Collective != ccl.AllReduce:
		return optionErrorf("partial", "%v of partial tensors: only all_reduce makes sense of addends", o.Collective)
	case o.RanksPer != PerSIP:
		return optionErrorf("partial", "partial tensors need ranks that are SIPs, whose cubes have the addends: add --ranks-per sip")
	}
	for _, r := range o.reductions() {
		if r != ccl.Sum && r != ccl.Avg {
			return optionErrorf("partial", "%v of partial tensors, which are the sums of their addends: use sum or avg", r)
		}
	}
	return nil
}

// addends returns the number of addends of each rank's tensor.
func (o *Options) addends() int {
	if o.Partial {
		return o.Topology.Spec().CubesPerSIP()
	}
	return 1
}

// algorithms returns the names of the algorithms to measure.
func (o *Options) algorithms() []string {
	if o.Algorithm != AllAlgorithms {
		return []string{o.Algorithm}
	}
	return o.allAlgorithms()
}

// allAlgorithms returns the names of all algorithms that perform the collective.
func (o *Options) allAlgorithms() []string {
	if o.Real() {
		return o.realAlgorithms()
	}
	return lists.Map(ccl.Algorithms(o.Collective), func(a *ccl.Algorithm) string { return a.Name })
}

// configuration returns the configuration of collectives: CCL, or the default if CCL is
// nil.
func (o *Options) configuration() *ccl.Config {
	if o.CCL == nil {
		return ccl.Default()
	}
	return o.CCL
}

// settings returns the default settings of CCL with the given algorithm, and with Buffer as
// the memory of queue slots. An empty algorithm or Buffer keeps the value of CCL.
func (o *Options) settings(algorithm string) (ccl.Settings, error) {
	s, err := o.configuration().Named("")
	s.Algorithm = cmp.Or(algorithm, s.Algorithm)
	s.BufferKind = cmp.Or(o.Buffer, s.BufferKind)
	return s, err
}

// Ranks returns the number of ranks that the options select, or an error if the number is
// not valid.
func (o *Options) Ranks() (int, error) {
	switch {
	case o.Real() && (o.NRanks < 1 || o.NRanks > maxRanks):
		return 0, fmt.Errorf("--nranks %d: write 1 to %d", o.NRanks, maxRanks)
	case o.Real():
		return o.NRanks, nil
	}
	spec := o.Topology.Spec()
	available, unit := spec.System.SIPs.Count, "SIPs, and a rank is one"
	if o.RanksPer != PerSIP {
		available, unit = available*spec.CubesPerSIP()*spec.PEsPerCube(), "PEs"
	}
	n := cmp.Or(o.World, available)
	if n < 1 || n > available {
		return 0, optionErrorf("world", "a world of %d ranks: the system has %d %s", n, available, unit)
	}
	return n, nil
}

// iters returns the number of iterations of each row.
func (o *Options) iters() int { return max(1, o.Iters) }

// pes returns the PEs that hold the data of the given number of ranks: one PE for each
// rank, or for each addend of each rank.
func (o *Options) pes(ranks int) []int {
	each, addends, s := 1, o.addends(), o.Topology.Spec()
	if o.RanksPer == PerSIP {
		each = s.CubesPerSIP() * s.PEsPerCube()
	}
	return lists.Make(ranks*addends, func(i int) int { return i/addends*each + i%addends*s.PEsPerCube() })
}

// reductions returns the reductions to measure. It returns only sum if the options name
// none or the collective does not reduce.
func (o *Options) reductions() []ccl.Reduction {
	if len(o.Reductions) == 0 || !o.Collective.Reduces() {
		return []ccl.Reduction{ccl.Sum}
	}
	return o.Reductions
}

// dtypes returns the dtypes to measure: f16 if the options name none, and u8 for a barrier.
func (o *Options) dtypes() []tl.DType {
	switch {
	case o.Collective == ccl.Barrier:
		return []tl.DType{tl.U8}
	case len(o.DTypes) == 0:
		return []tl.DType{tl.F16}
	}
	return o.DTypes
}

// series is the settings that are common to rows that differ only in size.
type series struct {
	dtype     tl.DType
	reduction ccl.Reduction
	root      int
}

// series returns all combinations of dtype, reduction and root to measure. It omits
// reductions that a dtype does not support.
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
			has := o.Real() && o.supportsReal(r, d) || !o.Real() && (r.Serves(d) || !o.Collective.Reduces())
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
