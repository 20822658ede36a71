package bench

// Uses says which settings a bench reads beside those of the machine.
type Uses uint8

// The settings. They are combined by |, and zero means that the bench does not say.
const (
	UsesNothing     Uses = 1 << iota // no others
	UsesCollectives                  // ccl.yaml
	UsesTasks                        // tasks.yaml
)

// Ignores reports whether a bench has said that it does not read some settings.
func (b Bench) Ignores(settings Uses) bool { return b.Uses != 0 && b.Uses&settings == 0 }
