package scenario

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
)

var (
	inputs    = map[string]Fill{}
	goldens   = map[string]Fill{}
	scenarios = map[string][]byte{}

	validName = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
)

func isName(text string) bool { return validName.MatchString(text) }

// Register adds a scenario: the text of its file. Load finds it by its name.
func Register(name string, text []byte) { add("scenario", scenarios, name, text) }

// RegisterKernel adds a kernel, a func(*tl.PE, ...) of the tile language.
func RegisterKernel(name string, kernel any) { kernels.register(name, kernel) }

// RegisterTasks adds an orchestration, a func(*task.Builder, ...) that submits the tasks
// of one rank.
func RegisterTasks(name string, orchestrate any) { orchestrations.register(name, orchestrate) }

// RegisterInput adds a function that makes values of a buffer: init: func:NAME.
func RegisterInput(name string, f Fill) { add("input", inputs, name, f) }

// RegisterGolden adds a function that makes the values that an output must have:
// golden: func:NAME.
func RegisterGolden(name string, f Fill) { add("golden", goldens, name, f) }

func add[T any](what string, to map[string]T, name string, value T) {
	if _, taken := to[name]; taken {
		panic(fmt.Sprintf("scenario: two of kind %s are called %q: rename one", what, name))
	}
	if !isName(name) {
		panic(fmt.Sprintf("scenario: %q is no name for a %s: write lower-case words joined by _, such as all_to_all", name, what))
	}
	to[name] = value
}

// Names is the registered scenarios in alphabetical order.
func Names() []string { return slices.Sorted(maps.Keys(scenarios)) }
