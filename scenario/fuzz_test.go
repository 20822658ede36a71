package scenario

import (
	"errors"
	"testing"

	"github.com/kernbench/kernbench/internal/config"
)

// FuzzParse checks that parsing any text gives a scenario or an error of type
// config.Errors.
func FuzzParse(f *testing.F) {
	f.Add(sample)
	f.Add("summary: s\nnranks: 2\nbuffers: [{name: x}]\nkernel: {}\noutputs: [{}]\n")
	f.Add("summary: s\nnranks: 2\nbuffers: [{name: x}]\ntasks: {name: sample_tasks, args: [x, $a]}\nkernel: x\n")
	f.Add("domains: {a: [0, 63]}\ndevices: 1-3\nparams: {m: a|b}\nwindow: 1/0\n")
	f.Fuzz(func(t *testing.T, text string) {
		_, err := Parse("f.yaml", []byte(text))
		var errs config.Errors
		if err != nil && !errors.As(err, &errs) {
			t.Errorf("%q: %v is not config.Errors", text, err)
		}
	})
}
