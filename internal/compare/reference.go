package compare

import (
	"bufio"
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/lists"
	"github.com/kernbench/kernbench/table"
)

// Reference is a table of published numbers, and what is known about the numbers.
type Reference struct {
	Name    string            `json:"reference"`
	Title   string            `json:"title"`
	Source  []string          `json:"source"`
	Date    string            `json:"date"`
	About   []string          `json:"about"`
	Unknown []string          `json:"unknown"` // what the source does not say
	Columns map[string]string `json:"columns"` // meaning of each column of the table
	Table   *table.Table      `json:"-"`
}

//go:embed data/*.csv
var data embed.FS

// References returns the names of all references.
func References() []string {
	entries, err := data.ReadDir("data")
	if err != nil {
		panic(err) // cannot happen: the folder is embedded in the program
	}
	return lists.Make(len(entries), func(i int) string { return strings.TrimSuffix(entries[i].Name(), ".csv") })
}

// GetReference returns the reference with the given name.
func GetReference(name string) (*Reference, error) {
	if !slices.Contains(References(), name) {
		return nil, fmt.Errorf("no reference %q: there are %s%s", name, strings.Join(References(), ", "), config.DidYouMean(name, References()))
	}
	text, err := data.ReadFile(path.Join("data", name+".csv"))
	if err != nil {
		return nil, err
	}
	r, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("reference %s: %w", name, err)
	}
	r.Name = name
	return r, nil
}

// parse parses the file of a reference. Lines "# key: value" at its start describe the
// reference; the rest is the table.
func parse(text []byte) (*Reference, error) {
	r := &Reference{Columns: map[string]string{}}
	texts := map[string]*string{"title": &r.Title, "date": &r.Date}
	lists := map[string]*[]string{"source": &r.Source, "about": &r.About, "unknown": &r.Unknown}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		comment, isComment := strings.CutPrefix(lines.Text(), "# ")
		if !isComment {
			break
		}
		key, value, _ := strings.Cut(comment, ": ")
		column, ofColumn := strings.CutPrefix(key, "column ")
		switch text, list := texts[key], lists[key]; {
		case ofColumn:
			r.Columns[column] = value
		case text != nil:
			*text = value
		case list != nil:
			*list = append(*list, value)
		default:
			return nil, fmt.Errorf("what is %q? write title, source, date, about, column NAME or unknown", key)
		}
	}
	var err error
	r.Table, err = table.ReadCSV(bytes.NewReader(text))
	return r, err
}

// Text returns the cell of a row in the named column as text. It panics if there is no such
// column.
func (r *Reference) Text(row int, column string) string {
	i, err := r.Table.Find(column)
	if err != nil {
		panic("reference " + r.Name + ": " + err.Error()) // the file is embedded in the program
	}
	return r.Table.Text(row, i)
}

// Number returns the cell of a row in the named column as a number. It panics if there is
// no such column or the cell is not a number.
func (r *Reference) Number(row int, column string) float64 {
	x, err := strconv.ParseFloat(r.Text(row, column), 64)
	if err != nil {
		panic(fmt.Sprintf("reference %s: %s of row %d: %v", r.Name, column, row+1, err))
	}
	return x
}

// digits returns the number in a row and the named column, with exactly the digits of the
// file.
func (r *Reference) digits(row int, column string) json.Number {
	return json.Number(r.Text(row, column))
}

// writeKnown writes what is known about a reference, and what is not known.
func (r *Reference) writeKnown(w io.Writer, indent string) {
	writeLines(w, indent+"source", r.Source)
	writeLines(w, indent+"date", []string{r.Date})
	writeLines(w, indent+"about", r.About)
	writeLines(w, indent+"not known", r.Unknown)
}

// writeLines writes each line after the given word and a colon.
func writeLines(w io.Writer, word string, lines []string) {
	for _, line := range lines {
		fmt.Fprintf(w, "%s: %s\n", word, line)
	}
}

// List is a list of references.
type List struct {
	References []*Reference `json:"references"`
}

// ListReferences returns all references.
func ListReferences() (*List, error) {
	l := &List{}
	for _, name := range References() {
		r, err := GetReference(name)
		if err != nil {
			return nil, err
		}
		l.References = append(l.References, r)
	}
	return l, nil
}

// WriteText writes what is known about each reference.
func (l *List) WriteText(w io.Writer) error {
	for i, r := range l.References {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s: %s\n", r.Name, r.Title)
		r.writeKnown(w, "  ")
	}
	return nil
}

// WriteCSV writes a line for each reference.
func (l *List) WriteCSV(w io.Writer) error {
	type row struct {
		Name   string `json:"reference" table:",setting"`
		Title  string `json:"title" table:",result"`
		Date   string `json:"date" table:",result"`
		Source string `json:"source" table:",result"`
	}
	var rows []row
	for _, r := range l.References {
		rows = append(rows, row{r.Name, r.Title, r.Date, strings.Join(r.Source, "; ")})
	}
	t, err := table.From(rows)
	if err != nil {
		return err
	}
	return t.WriteCSV(w)
}
