// Package rapidtest has property tests draw the same cases every time, so that a change
// is what makes a test fail. -rapid.seed and -rapid.checks explore others.
//
// It is imported by tests alone, and imports nothing of this module.
package rapidtest

import (
	"flag"
	"testing"
)

// Main runs the tests of a package with one seed, and is the exit status. Its TestMain
// calls it.
func Main(m *testing.M) int {
	Seed()
	return m.Run()
}

// Seed sets the seed, unless -rapid.seed does, in packages that draw cases.
func Seed() {
	flag.Parse()
	if seed := flag.Lookup("rapid.seed"); seed != nil && seed.Value.String() == seed.DefValue {
		if err := flag.Set("rapid.seed", "1"); err != nil {
			panic(err)
		}
	}
}
