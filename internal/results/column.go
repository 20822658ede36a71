package results

import (
	"slices"
	"strings"
)

// role is what a column is to a comparison.
type role int

const (
	key     role = iota // says what a row is about
	lower               // measured, the less the better
	higher              // measured, the more the better
	neutral             // measured or worked out, neither better nor worse
	right               // says that values are right: true, or as many as can be
	wrong               // counts what is wrong, and should not
	origin              // of which version and configuration a row is; not compared
)

// roles is what columns are, by how their names end or begin; the first that fits.
var roles = []struct {
	is    func(name, part string) bool
	role  role
	parts []string
}{
	{equal, right, []string{"ok", "match"}},
	{equal, wrong, []string{"wrong"}},
	{equal, origin, []string{"version", "hash", "identity"}},
	{strings.HasSuffix, origin, []string{"_hash", ".hash", "_version"}},
	{equal, key, []string{"flops"}}, // how many there are, not how many a second
	{strings.HasPrefix, neutral, append([]string{"theirs"}, theory...)},
	{equal, neutral, []string{"best"}},
	{equal, lower, []string{"time"}}, // but not runtime
	{strings.HasSuffix, lower, []string{"_ns", "_us", "_ms", "_s", "_time", "latency", "makespan"}},
	{strings.HasSuffix, higher, []string{"gbps", "gbs", "algbw", "busbw", "bandwidth", "flops", "utilization"}},
	{strings.HasSuffix, neutral, shares},
}

var (
	theory = []string{"bound", "roofline", "formula", "ideal", "theory", "reference"} // how names begin
	shares = []string{"share", "ratio"}                                               // how names end
)

// Theory tells columns that were worked out, such as bound_ns, from those that were measured.
// A bound_share is of both, and none.
func Theory(column string) bool {
	name := lastWord(column)
	return slices.ContainsFunc(theory, func(word string) bool { return strings.HasPrefix(name, word) }) &&
		!slices.ContainsFunc(shares, func(word string) bool { return strings.HasSuffix(name, word) })
}

// lastWord is what a column is judged by: of an object within a row, what follows the dots.
func lastWord(column string) string {
	return strings.ToLower(column[strings.LastIndexByte(column, '.')+1:])
}

func equal(name, part string) bool { return name == part }

// roleOf is what a column is if nobody says otherwise.
func roleOf(name string) role {
	name = lastWord(name)
	for _, r := range roles {
		for _, part := range r.parts {
			if r.is(name, part) {
				return r.role
			}
		}
	}
	return key
}

// asValue is the role of a column that somebody wants compared.
func asValue(name string) role {
	if r := roleOf(name); r != key && r != origin {
		return r
	}
	return neutral
}
