package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/internal/printable"
)

// Error is one mistake in a configuration, at the place where it can be mended. Its JSON is an
// element of the errors of `kernbench topology validate --format json`.
type Error struct {
	File    string `json:"file"`   // "--set" for an argument; "" when the value came from no file
	Line    int    `json:"line"`   // from 1; 0 where the source has no lines, as in --set
	Column  int    `json:"column"` // from 1, in characters
	Path    string `json:"path"`   // the value, as "cube.hbm.channels"; "" for the whole file
	Msg     string `json:"message"`
	Excerpt string `json:"-"` // the line with a caret under the column; "" when there is none
	Kept    bool   `json:"-"` // the value at Path was read all the same, as beside an unknown key

	src  *source
	rank int // of the source among those of the document
}

// Error is "file:line:column: path: message" and the excerpt under it.
func (e *Error) Error() string {
	var b strings.Builder
	switch {
	case e.Line > 0:
		fmt.Fprintf(&b, "%s:%d:%d: ", e.File, e.Line, e.Column)
	case e.File != "":
		fmt.Fprintf(&b, "%s: ", e.File)
	}
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(e.Msg)
	if e.Excerpt != "" {
		b.WriteString("\n" + e.Excerpt)
	}
	return b.String()
}

// Errors is every mistake found in a configuration, in the order of its text, up
// to the first MaxErrors.
type Errors []*Error

// MaxErrors is where the search for mistakes ends: what has more is no
// configuration.
const MaxErrors = 100

// Error is the mistakes one after the other.
func (es Errors) Error() string {
	texts := lists.Map(es, (*Error).Error)
	if len(es) >= MaxErrors {
		texts = append(texts, fmt.Sprintf("there may be more than these %d", len(es)))
	}
	return strings.Join(texts, "\n")
}

// Unwrap gives the single mistakes to errors.As.
func (es Errors) Unwrap() []error {
	return lists.Map(es, func(e *Error) error { return e })
}

// Err is the errors in order, or nil when there are none.
func (es Errors) Err() error {
	if len(es) == 0 {
		return nil
	}
	slices.SortStableFunc(es, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return es
}

// Flatten returns the errors that err joins, at any depth, in order.
func Flatten(err error) (all []error) {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	for _, e := range joined.Unwrap() {
		all = append(all, Flatten(e)...)
	}
	return all
}

// excerptWidth is how much of a long line is shown on either side of the caret.
const excerptWidth = 60

// excerpt shows a line with a caret under a column, both from 1. Long lines are
// cut around the column, and characters that are not printable are replaced, each by one
// that is, so that the caret stays under the column.
func excerpt(label, line string, column int) string {
	runes := []rune(strings.TrimRight(line, "\r\n"))
	for i, r := range runes {
		switch {
		case r == '\t':
			runes[i] = ' '
		case !printable.Is(r):
			runes[i] = '�'
		}
	}
	at := min(max(column-1, 0), len(runes))
	from, to := max(at-excerptWidth, 0), min(at+excerptWidth, len(runes))
	before, after := "", ""
	if from > 0 {
		before = "…"
	}
	if to < len(runes) {
		after = "…"
	}
	pad := strings.Repeat(" ", utf8.RuneCountInString(before)+at-from)
	margin := strings.Repeat(" ", utf8.RuneCountInString(label))
	return fmt.Sprintf("%s | %s%s%s\n%s | %s^", label, before, string(runes[from:to]), after, margin, pad)
}

// Nearest is the known word that a mistyped one was most likely meant to be: one
// it is the beginning of, from three letters on, or one slip away, two when it
// has more than four letters. It is "" when none is that close.
func Nearest(word string, known []string) string {
	if len(word) > 100 {
		return ""
	}
	word = strings.ToLower(word)
	best, least := "", min(2, max(len(word), 1)) // a slip in a single letter leaves nothing
	if len(word) > 4 {
		least = 3
	}
	for _, k := range known {
		d := distance(word, strings.ToLower(k))
		if len(word) > 2 && strings.HasPrefix(strings.ToLower(k), word) {
			d = min(d, 1) // an abbreviation
		}
		if d < least {
			best, least = k, d
		}
	}
	return best
}

// DidYouMean is the end of a message about an unknown word, "; did you mean ring6?", if one
// that is known is near.
func DidYouMean(word string, known []string) string {
	if near := Nearest(word, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// distance is the number of insertions, deletions, substitutions and swaps of
// neighbours between two words.
func distance(a, b string) int {
	// Rows of the usual table: d[j] is the distance of a[:i] and b[:j].
	var before []int
	prev := lists.Count(0, len(b)+1)
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, prev = prev, row
	}
	return prev[len(b)]
}
