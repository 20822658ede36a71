package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/scenario/runner"
)

// addScenarioFlags gives a command the flags that choose a scenario's ranks and
// parameters, and is how to read them. Some of --set may be for tasks.
func addScenarioFlags(cmd *cobra.Command, tasks *taskFlags) func(*runner.Options) error {
	var nranks, root, rounds int
	intFlag(cmd, &nranks, "nranks", 0, "how many ranks (default: as many as -d has, else the scenario's)")
	intFlag(cmd, &root, "root", 0, "the root, of scenarios that have one (default: the scenario's)")
	intFlag(cmd, &rounds, "rounds", 1, "how often the kernel runs, with other inputs every time")
	devices := cmd.Flags().StringP("devices", "d", "", "`LIST` of the ranks' devices, such as 0-3 or 0,2,5 (default: from 0 on)")
	sets := cmd.Flags().StringArray("set", nil, "change a parameter of the scenario, `NAME=VALUE`, or with --runtime a value of tasks.yaml, tasks.KEY=VALUE; repeatable")
	return func(o *runner.Options) error {
		err := refuse(cmd,
			misuse{"nranks", nranks < 1, fmt.Sprintf("%d: write 1 to 64", nranks)},
			misuse{"rounds", rounds < 1, fmt.Sprintf("%d: write 1 or more", rounds)},
			misuse{"devices", *devices == "", "is empty: write a list such as 0-3 or 0,2,5"})
		if err != nil {
			return err
		}
		o.Ranks, o.Rounds, o.Devices = nranks, rounds, *devices
		if cmd.Flags().Changed("root") {
			o.Root = &root
		}
		o.Params = map[string]string{}
		for _, set := range *sets {
			if tasks != nil && tasks.take(set) {
				continue
			}
			name, value, ok := strings.Cut(set, "=")
			if !ok || name == "" {
				return fmt.Errorf("--set %s: write NAME=VALUE", set)
			}
			if value == "" {
				return fmt.Errorf("--set %s: no value: write NAME=VALUE, or delete it for the scenario's own", set)
			}
			if _, twice := o.Params[name]; twice {
				return fmt.Errorf("--set %s: %s is set twice", set, name)
			}
			o.Params[name] = value
		}
		return nil
	}
}

// addBackendFlags gives a command the flags that say what ranks are, and is how to read
// them.
func addBackendFlags(cmd *cobra.Command) func(*runner.Options) error {
	backend := choiceFlag(cmd, "backend", "what ranks are: processes, goroutines, or SIPs of a simulated machine", runner.Backends...)
	preset := cmd.Flags().StringP("preset", "p", "", "`NAME` or file of the simulated system, of --backend sim (default: default), or a2a3sim or a5sim")
	check := choiceFlag(cmd, "check", "look for accesses that nothing orders, on --backend sim", "none", "race")
	seed, timeout := seedValue(1), timeoutFlag(cmd)
	cmd.Flags().Var(&seed, "seed", "`NUMBER` that the random delays of --rounds begin with")
	return func(o *runner.Options) error {
		if err := refuse(cmd, misuse{"preset", *preset == "", "is empty: write a preset, a file, a2a3sim or a5sim, or delete it"}); err != nil {
			return err
		}
		o.Preset, o.Race = *preset, *check == "race"
		if cmd.Flags().Changed("backend") {
			o.Backend = *backend
		}
		if err := o.ResolvePlatform(); err != nil {
			return err
		}
		o.Timeout = time.Duration(*timeout)
		if cmd.Flags().Changed("seed") {
			o.Seed = (*uint64)(&seed)
		}
		return nil
	}
}

// seedValue is the value of --seed.
type seedValue uint64

func (s *seedValue) String() string { return strconv.FormatUint(uint64(*s), 10) }
func (s *seedValue) Type() string   { return "int" }
func (s *seedValue) Set(text string) error {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return errors.New("write a whole number, 0 or more")
	}
	*s = seedValue(n)
	return nil
}

// timeoutFlag gives a command --timeout.
func timeoutFlag(cmd *cobra.Command) *timeoutValue {
	var timeout timeoutValue
	cmd.Flags().Var(&timeout, "timeout", "wall-clock `TIME` after which the run is given up (default: none)")
	return &timeout
}

// timeoutValue is the value of --timeout; 0 is none.
type timeoutValue time.Duration

func (t *timeoutValue) String() string {
	if *t == 0 {
		return "" // the usage says what the default is
	}
	return time.Duration(*t).String()
}
func (t *timeoutValue) Type() string { return "duration" }
func (t *timeoutValue) Set(text string) error {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return errors.New("write a time such as 30s")
	}
	*t = timeoutValue(d)
	return nil
}
