package ccl

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/topology"
)

// Config is the contents of ccl.yaml, after extends and --set: settings of collectives, as
// defaults and under names.
type Config struct {
	Defaults   Defaults         `yaml:"defaults,omitempty"`   // settings of entries that do not give their own
	Algorithms map[string]Entry `yaml:"algorithms,omitempty"` // named settings of a collective

	origin *config.Doc // where each value was written; nil for a config made in Go
}

// Defaults is a set of settings for entries that do not give their own. Each key is optional.
type Defaults struct {
	Algorithm AlgorithmOrEntry `yaml:"algorithm,omitempty"` // an algorithm of the library, auto, or an entry of algorithms, whose settings become the defaults; ring if not given
	Tuning
	WorldSize int `yaml:"world_size,omitempty" range:"1..16777216"` // number of ranks if neither an entry nor a flag gives it; all PEs if not given
}

// AlgorithmOrEntry is the name of an algorithm of the library, auto, or the name of an
// entry of ccl.yaml. If an algorithm and an entry have the same name, it means the
// algorithm.
type AlgorithmOrEntry string

// Tuning is the configuration of queues and messages of collectives. Each key is optional.
type Tuning struct {
	BufferKind   topology.BufferKind   `yaml:"buffer_kind,omitempty"`                // memory of the receiver that holds queue slots; as in the topology if not given
	Backpressure topology.Backpressure `yaml:"backpressure,omitempty"`               // how a sender waits for a credit; as in the topology if not given
	NSlots       int                   `yaml:"n_slots,omitempty" range:"1..65536"`   // number of slots of a queue; as in the topology if not given
	SlotSize     topology.Bytes        `yaml:"slot_size,omitempty"`                  // size of a slot; as in the topology if not given
	CreditBytes  topology.Bytes        `yaml:"credit_bytes,omitempty"`               // size of the message that returns a credit; as in the topology if not given
	ChunkBytes   topology.Bytes        `yaml:"chunk_bytes,omitempty"`                // largest message, at most n_slots·slot_size; chosen by the algorithm if not given
	RootCube     *int                  `yaml:"root_cube,omitempty" range:"0..65535"` // cube of each SIP where center_root forms sums; the cube in the middle if not given
}

// Entry is a set of named settings. Settings that are not given are those of the defaults.
type Entry struct {
	Algorithm string `yaml:"algorithm,omitempty"` // an algorithm of the library, or auto; as in the defaults if not given
	Tuning
	NElem     *int `yaml:"n_elem,omitempty" range:"0..1099511627776"` // number of elements of each rank; 32 if not given
	WorldSize int  `yaml:"world_size,omitempty" range:"1..16777216"`  // number of ranks; as in the defaults if not given
}

// Settings is an entry merged with the defaults. Zero values mean: as in the topology; for
// ChunkBytes, the choice of the algorithm; for WorldSize, all PEs.
type Settings struct {
	Algorithm    string
	BufferKind   topology.BufferKind
	Backpressure topology.Backpressure
	NSlots       int
	SlotSize     topology.Bytes
	CreditBytes  topology.Bytes
	ChunkBytes   topology.Bytes
	RootCube     int // counted from 1; 0 means the middle cube
	NElem        int
	WorldSize    int
}

const (
	defaultAlgorithm = "ring"
	defaultElems     = 32
)

// Named returns the settings of the entry with the given name, merged with the defaults.
// With an empty name it returns the settings of the entry that defaults.algorithm names. If
// that is not an entry, it returns the values of defaults.
func (c *Config) Named(name string) (Settings, error) {
	e, ok := c.entry(name)
	if !ok {
		return Settings{}, fmt.Errorf("no algorithm is named %.60q in %s: there are %s%s",
			name, cmp.Or(c.Source(), "the configuration"), cmp.Or(strings.Join(c.Names(), ", "), "none"), config.DidYouMean(name, c.Names()))
	}
	return c.settings(e), nil
}

// entry returns the entry with the given name and reports whether it exists. For "" it
// returns the default entry, or an empty entry if there is none.
func (c *Config) entry(name string) (e Entry, ok bool) {
	if name == "" {
		name = c.DefaultEntry()
	}
	if name == "" {
		return Entry{}, true
	}
	name, ok = config.Canonical(name, c.Names())
	return c.Algorithms[name], ok
}

// DefaultEntry returns the name of the entry that defaults.algorithm names. It returns ""
// if defaults.algorithm names an algorithm or is not given.
func (c *Config) DefaultEntry() string {
	name := string(c.Defaults.Algorithm)
	if slices.Contains(append(Names(), Auto), name) {
		return ""
	}
	name, _ = config.Canonical(name, c.Names())
	return name
}

// Names returns the names of all entries, sorted.
func (c *Config) Names() []string { return slices.Sorted(maps.Keys(c.Algorithms)) }

// settings returns the settings of entry e, with the defaults for values that e does not
// give.
func (c *Config) settings(e Entry) Settings {
	d, elems := c.Defaults, defaultElems
	algorithm := string(d.Algorithm)
	if entry := c.DefaultEntry(); entry != "" {
		algorithm = c.Algorithms[entry].Algorithm
	}
	if e.NElem != nil {
		elems = *e.NElem
	}
	root := 0
	if cube := cmp.Or(e.RootCube, d.RootCube); cube != nil {
		root = *cube + 1
	}
	return Settings{
		Algorithm:    cmp.Or(e.Algorithm, algorithm, defaultAlgorithm),
		BufferKind:   cmp.Or(e.BufferKind, d.BufferKind),
		Backpressure: cmp.Or(e.Backpressure, d.Backpressure),
		NSlots:       cmp.Or(e.NSlots, d.NSlots),
		SlotSize:     cmp.Or(e.SlotSize, d.SlotSize),
		CreditBytes:  cmp.Or(e.CreditBytes, d.CreditBytes),
		ChunkBytes:   cmp.Or(e.ChunkBytes, d.ChunkBytes),
		RootCube:     root,
		NElem:        elems,
		WorldSize:    cmp.Or(e.WorldSize, d.WorldSize),
	}
}

// check looks for mistakes that involve several values of the configuration. It returns
// them together with errs, the errors of decoding.
func (c *Config) check(errs config.Errors) error {
	unread := func(path string) bool { // rules do not apply to values that could not be read
		return slices.ContainsFunc(errs, func(e *config.Error) bool {
			return !e.Kept && strings.HasPrefix(e.Path+".", path+".")
		})
	}
	found := slices.Clone(errs)
	if len(errs) >= config.MaxErrors {
		return errs.Err()
	}
	if name := string(c.Defaults.Algorithm); name != "" && c.DefaultEntry() == "" && !slices.Contains(append(Names(), Auto), name) {
		known := append(append(Names(), Auto), c.Names()...)
		found = append(found, c.origin.Errorf("defaults.algorithm", "unknown word %.60q: write %s%s", name, algorithmOrEntry(), config.DidYouMean(name, known)))
	}
	if unread("defaults") {
		return found.Err()
	}
	fits := func(path string, e Entry) {
		if s := c.settings(e); !s.fits() && !unread(path) && len(found) < config.MaxErrors {
			found = append(found, c.origin.Errorf(c.latest(path, e),
				"a chunk of %v is more than a queue of %s holds, %d × %v, so that ranks could wait for each other forever: use chunk_bytes of at most %v, or more or larger slots",
				s.ChunkBytes, path, s.NSlots, s.SlotSize, topology.Bytes(s.NSlots)*s.SlotSize))
		}
	}
	fits("defaults", Entry{})
	for _, name := range c.Names() {
		if e := c.Algorithms[name]; e.ChunkBytes != 0 || e.NSlots != 0 || e.SlotSize != 0 { // otherwise the error is reported for the defaults
			fits("algorithms."+name, e)
		}
	}
	return found.Err()
}

// update replaces old spellings of the names of embedded entries with the current names. It
// looks for old spellings in defaults.algorithm and among the entries that a file or --set
// adds. It reports each old spelling with config.Renamed.
func (c *Config) update(ctx context.Context) {
	for _, name := range c.Names() {
		now, ok := config.Canonical(name, embeddedEntries())
		base, there := c.Algorithms[now]
		if !ok || now == name || !there {
			continue
		}
		config.Renamed(ctx, name, now)
		c.Algorithms[now] = c.Algorithms[name].over(base)
		delete(c.Algorithms, name)
	}
	if name := string(c.Defaults.Algorithm); c.DefaultEntry() != "" && c.DefaultEntry() != name {
		config.Renamed(ctx, name, c.DefaultEntry())
		c.Defaults.Algorithm = AlgorithmOrEntry(c.DefaultEntry())
	}
}

// over returns a copy of e in which values that e does not give are taken from base.
func (e Entry) over(base Entry) Entry {
	return Entry{
		Algorithm: cmp.Or(e.Algorithm, base.Algorithm),
		Tuning: Tuning{
			BufferKind:   cmp.Or(e.BufferKind, base.BufferKind),
			Backpressure: cmp.Or(e.Backpressure, base.Backpressure),
			NSlots:       cmp.Or(e.NSlots, base.NSlots),
			SlotSize:     cmp.Or(e.SlotSize, base.SlotSize),
			CreditBytes:  cmp.Or(e.CreditBytes, base.CreditBytes),
			ChunkBytes:   cmp.Or(e.ChunkBytes, base.ChunkBytes),
			RootCube:     cmp.Or(e.RootCube, base.RootCube),
		},
		NElem:     cmp.Or(e.NElem, base.NElem),
		WorldSize: cmp.Or(e.WorldSize, base.WorldSize),
	}
}

// fits reports whether a chunk fits into a queue. It reports true if the configuration does
// not give the size of a queue.
func (s Settings) fits() bool {
	return s.NSlots == 0 || s.SlotSize == 0 || (s.ChunkBytes+s.SlotSize-1)/s.SlotSize <= topology.Bytes(s.NSlots)
}

// latest returns the path of one of the settings chunk_bytes, n_slots and slot_size: the
// setting that was most likely changed last. An error about chunks that are larger than a
// queue names this setting. Among settings that were written at the same place, latest
// prefers the settings of entry e to the defaults.
func (c *Config) latest(path string, e Entry) string {
	var own, inherited []string
	for _, v := range []struct {
		key   string
		given bool
	}{{"chunk_bytes", e.ChunkBytes != 0}, {"n_slots", e.NSlots != 0}, {"slot_size", e.SlotSize != 0}} {
		if v.given {
			own = append(own, path+"."+v.key)
		} else {
			inherited = append(inherited, "defaults."+v.key)
		}
	}
	return c.origin.Latest(append(own, inherited...)...)
}
