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

// Error is a mistake in a configuration, with the position where it can be corrected. Its
// JSON is an element of the errors of `kernbench topology validate --format json`.
type Error struct {
	File    string `json:"file"`   // "--set" for an argument; "" if the value is not from a file
	Line    int    `json:"line"`   // from 1; 0 if the source has no lines, as in --set
	Column  int    `json:"column"` // from 1, in characters
	Path    string `json:"path"`   // of the value, such as "cube.hbm.channels"; "" for the whole file
	Msg     string `json:"message"`
	Excerpt string `json:"-"` // the line with a caret under the column; "" if there is none
	Kept    bool   `json:"-"` // the value at Path was read in spite of the mistake

	src  *source
	rank int // index of the source in its document
}

// Error returns "file:line:column: path: message", followed by the excerpt on the lines
// below. It leaves out the parts that are not known.
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

// Errors is a list of the mistakes in a configuration, in the order of its text. It has at
// most MaxErrors elements.
type Errors []*Error

// MaxErrors is the maximum number of mistakes that are reported. A text with more mistakes
// is probably not a configuration.
const MaxErrors = 100

// Error returns the messages of all mistakes, separated by newlines. If there are MaxErrors
// mistakes, the last line says that there may be more.
func (es Errors) Error() string {
	texts := lists.Map(es, (*Error).Error)
	if len(es) >= MaxErrors {
		texts = append(texts, fmt.Sprintf("there may be more than these %d", len(es)))
	}
	return strings.Join(texts, "\n")
}

// Unwrap returns the individual mistakes, for errors.As.
func (es Errors) Unwrap() []error {
	return lists.Map(es, func(e *Error) error { return e })
}

// Err sorts the errors and returns them, or nil if there are none.
func (es Errors) Err() error {
	if len(es) == 0 {
		return nil
	}
	slices.SortStableFunc(es, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return es
}

// Flatten returns the errors that err joins at any depth, in order.
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

// excerptWidth is the number of characters of a long line that are shown on each side of
// the caret.
const excerptWidth = 60

// excerpt formats a line of text with `label` in front of it and a caret under the given
// column. Columns count from 1. Long lines are cut around the column. Each character that
// is not printable is replaced by one printable character, so that the caret stays under
// the column.
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

// Nearest returns the known word that a mistyped word most likely stands for, or "" if no
// known word is near. It ignores case. A known word is near if it begins with the mistyped
// word, provided that the mistyped word has at least three letters. A known word is also
// near if one edit turns the mistyped word into the known word. Two edits are allowed if
// the mistyped word has more than four letters, and none if it has only one letter.
func Nearest(word string, known []string) string {
	if len(word) > 100 {
		return ""
	}
	word = strings.ToLower(word)
	best, least := "", min(2, max(len(word), 1)) // one edit could turn a single letter into any other
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

// DidYouMean returns the end of a message about an unknown word, such as "; did you mean
// ring6?", or "" if no known word is near.
func DidYouMean(word string, known []string) string {
	if near := Nearest(word, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// distance returns the edit distance of two words: the number of insertions, deletions,
// substitutions and swaps of neighbours.
func distance(a, b string) int {
	// Dynamic programming by rows: row[j] is the distance of a[:i] and b[:j], prev is the
	// row for i-1, and before the row for i-2.
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
