package scenario

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/lists"
)

// Choice holds the settings of a run that replace those of the file. The zero value
// replaces nothing.
type Choice struct {
	Ranks   int               `json:"nranks" yaml:"nranks" range:"1..64"`                 // 0: the number of Devices, or else the file's
	Root    *int              `json:"root,omitempty" yaml:"root,omitempty" range:"0..63"` // nil: the file's
	Rounds  int               `json:"rounds" yaml:"rounds" range:"1..10000000"`           // 0: one round
	Devices string            `json:"devices,omitempty" yaml:"devices,omitempty"`         // such as 0-3 or 0,2,5; "": the file's
	Bind    bool              `json:"bind,omitempty" yaml:"bind,omitempty"`               // the user named the devices, see Plan.Bind; only for choices read from a file, which always has Devices
	Params  map[string]string `json:"params,omitempty" yaml:"params,omitempty"`           // the values of parameters by name
	Trusted bool              `json:"-"`                                                  // do not try to compute values: the same plan was checked before
	// Mistake returns the error for a wrong value of a key. It is set for choices that were
	// read from a file. If Mistake is nil, errors name the flags of kernbench comm.
	Mistake func(key, text string) error `json:"-"`
}

// chooseRanks sets the number of ranks of the plan from the choice or the file, and reports
// whether the scenario supports this number. If not, or if the devices in the choice are
// malformed, it records a mistake and returns false.
func (pl *Plan) chooseRanks(c Choice, p *problems) (ok bool) {
	s := pl.scenario
	wrong := func(format string, args ...any) { p.addAt("nranks", format, args...) }
	text := fmt.Sprintf("%d: ", s.Ranks)
	pl.Ranks = s.Ranks
	switch {
	case c.Ranks != 0:
		pl.Ranks, text = c.Ranks, fmt.Sprintf("%d: ", c.Ranks)
		wrong = func(format string, args ...any) { p.addInChoice(c, "nranks", "--nranks", fmt.Sprintf(format, args...)) }
	case c.Devices != "":
		wrong = func(format string, args ...any) {
			p.addInChoice(c, "devices", "--devices", fmt.Sprintf(format, args...))
		}
		devices, err := ParseDevices(c.Devices)
		if err != nil {
			wrong("%s: %v", c.Devices, err)
			return false
		}
		pl.Ranks, text = len(devices), fmt.Sprintf("%s: nranks is %d, one for each device: ", c.Devices, len(devices))
	}
	least, most := 1, MaxRanks
	if r := s.file.Ranks; r != nil && r.Min > 0 && r.Max >= r.Min {
		least, most = r.Min, r.Max
	}
	switch {
	case least <= pl.Ranks && pl.Ranks <= most:
		return true
	case least == most:
		wrong("%sthe scenario is defined for %d ranks only", text, least)
	default:
		wrong("%sthe scenario is defined for %d to %d ranks", text, least, most)
	}
	return false
}

// chooseRoot sets the root of the plan from the choice or the file. It records a mistake if
// there is no such rank, or if the choice has a root and the scenario uses none.
func (pl *Plan) chooseRoot(c Choice, p *problems) {
	s := pl.scenario
	switch {
	case c.Root != nil && !s.rooted:
		p.addInChoice(c, "root", "--root", fmt.Sprintf("%d: the scenario has no root: delete it", *c.Root))
	case c.Root != nil:
		pl.Root = *c.Root
		if pl.Root < 0 || pl.Root >= pl.Ranks {
			p.addInChoice(c, "root", "--root", fmt.Sprintf("%d: the ranks are 0 to %d", pl.Root, pl.Ranks-1))
		}
	case s.file.Root != nil:
		pl.Root = *s.file.Root
		if pl.Root >= pl.Ranks {
			p.addAt("root", "rank %d does not exist: with nranks %d the ranks are 0 to %d", pl.Root, pl.Ranks, pl.Ranks-1)
		}
	}
}

// chooseParams sets the parameters of the plan from the choice, or to their defaults. It
// records invalid values and unknown names as mistakes.
func (pl *Plan) chooseParams(c Choice, p *problems) {
	s := pl.scenario
	for _, name := range s.paramNames() {
		value, err := s.Params[name].choose(c.Params[name])
		if err != nil {
			p.addInChoice(c, "params."+name, "--set "+name+"=", fmt.Sprintf("%s: %v", c.Params[name], err))
		}
		pl.params[name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(c.Params)) {
		if _, ok := s.Params[name]; !ok {
			p.addInChoice(c, "params."+name, "--set", fmt.Sprintf("%s: no parameter of %s, which has %s%s", name, s.Source, joinNames(s.paramNames()), config.DidYouMean(name, s.paramNames())))
		}
	}
}

// chooseDevices sets the device of each rank from the choice or the file. The default
// devices are 0, 1, 2 and so on. It also sets pl.Bind, which says whether ranks are bound
// to cores. It records a mistake if the devices are malformed, or if there are more or
// fewer devices than ranks.
func (pl *Plan) chooseDevices(c Choice, p *problems) {
	text, given := c.Devices, pl.scenario.file.Devices
	pl.Bind = c.Bind || c.Mistake == nil && (text != "" || given != nil)
	wrong := func(format string, args ...any) {
		p.addInChoice(c, "devices", "--devices", fmt.Sprintf("%s: %s", text, fmt.Sprintf(format, args...)))
	}
	switch {
	case text == "" && (given == nil || p.hasMistake("devices")):
		pl.Devices = lists.Count(0, pl.Ranks)
		return
	case text == "":
		text = string(*given)
		wrong = func(format string, args ...any) { p.addAt("devices", format, args...) }
	}
	devices, err := ParseDevices(text)
	switch {
	case err != nil:
		wrong("%v", err)
	case len(devices) != pl.Ranks && c.Devices != "" && c.Mistake == nil:
		wrong("%d devices, and --nranks is %d: name a device for each rank, or delete --nranks", len(devices), pl.Ranks)
	case len(devices) != pl.Ranks:
		wrong("%d devices for %d ranks: each rank has one of its own", len(devices), pl.Ranks)
	}
	pl.Devices = devices
}

// Params returns the value of each parameter by name, in the form that --set accepts.
func (pl *Plan) Params() map[string]string {
	all := map[string]string{}
	for name, s := range pl.params {
		all[name] = s.String()
	}
	return all
}

// Choice returns a choice with which Scenario.Plan makes the same plan again.
func (pl *Plan) Choice() Choice {
	c := Choice{Ranks: pl.Ranks, Rounds: pl.Rounds, Bind: pl.Bind, Params: pl.Params()}
	if pl.scenario.rooted {
		c.Root = &pl.Root
	}
	c.Devices = strings.ReplaceAll(strings.Trim(fmt.Sprint(pl.Devices), "[]"), " ", ",")
	return c
}

// MaxDevices is the largest number of devices.
const MaxDevices = 64

// ParseDevices parses a list of devices such as 0-3 or 0,2,5. Element r of the result is
// the device of rank r.
func ParseDevices(text string) ([]int, error) {
	var list []int
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(strings.TrimSpace(part), "-")
		if !isRange {
			last = first
		}
		from, okFrom := parseDevice(first)
		to, okTo := parseDevice(last)
		switch {
		case !okFrom || !okTo || from > to:
			return nil, fmt.Errorf("%.60q names no devices: write numbers and ranges such as 0-3 or 0,2,5", part)
		case to >= MaxDevices:
			return nil, fmt.Errorf("unknown device %.20s: there are 0 to %d", last, MaxDevices-1)
		}
		for d := from; d <= to; d++ {
			if slices.Contains(list, d) {
				return nil, fmt.Errorf("device %d is there twice: each rank has a device of its own", d)
			}
			list = append(list, d)
		}
	}
	return list, nil
}

// parseDevice parses the number of a device and reports whether text is a number. A number
// that is too large becomes the largest int32, so that the caller reports an unknown
// device.
func parseDevice(text string) (n int, ok bool) {
	read, err := strconv.ParseUint(text, 10, 31)
	return int(read), err == nil || errors.Is(err, strconv.ErrRange)
}
