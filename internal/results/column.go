package results

import "strings"

// role is what a column is to a comparison.
type role int

const (
	key     role = iota // says what a row is about
	lower               // measured, the less the better
	higher              // measured, the more the better
	neutral             // measured or worked out, neither better nor worse
	verdict             // whether values are right: a change is never welcome
	origin              // of which version and configuration a row is; not compared
)

// roles is what columns are, by how their names end or begin; the first that fits.
var roles = []struct {
	is    func(name, part string) bool
	role  role
	parts []string
}{
	{equal, verdict, []string{"ok", "wrong", "match"}},
	{equal, origin, []string{"version", "hash", "identity"}},
	{strings.HasSuffix, origin, []string{"_hash", ".hash", "_version"}},
	{equal, key, []string{"flops"}}, // how many there are, not how many a second
	{strings.HasPrefix, neutral, []string{"bound", "roofline", "formula", "ideal", "reference", "theirs"}},
	{equal, neutral, []string{"best"}},
	{equal, lower, []string{"time"}}, // but not runtime
	{strings.HasSuffix, lower, []string{"_ns", "_us", "_ms", "_s", "_time", "latency", "makespan"}},
	{strings.HasSuffix, higher, []string{"gbps", "gbs", "algbw", "busbw", "bandwidth", "flops", "utilization"}},
	{strings.HasSuffix, neutral, []string{"share", "ratio"}},
}

func equal(name, part string) bool { return name == part }

// roleOf is what a column is if nobody says otherwise. A name with dots, of an object within
// a row, is judged by its last word.
func roleOf(name string) role {
	name = strings.ToLower(name[strings.LastIndexByte(name, '.')+1:])
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
