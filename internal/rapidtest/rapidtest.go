// Package rapidtest makes property tests draw the same cases in every run, so that a test
// fails only because of a change. The flags -rapid.seed and -rapid.checks draw other cases.
//
// Only tests import it, and it imports no package of this module.
package rapidtest

import (
	"flag"
	"testing"
)

// Main sets the seed of the random cases, runs the tests of a package and returns the exit
// status. TestMain of the package calls it.
func Main(m *testing.M) int {
	Seed()
	return m.Run()
}

// Seed sets the seed of the random cases to 1 unless -rapid.seed is given. It does nothing
// in packages that do not import rapid.
func Seed() {
	flag.Parse()
	if seed := flag.Lookup("rapid.seed"); seed != nil && seed.Value.String() == seed.DefValue {
		if err := flag.Set("rapid.seed", "1"); err != nil {
			panic(err)
		}
	}
}
