package table

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/kernbench/kernbench/internal/lists"
)

// annotations are the comments before the header of a CSV file that say what columns are: the
// word, and a cell for each column.
var annotations = []struct {
	word string
	of   func(*Column) *string
}{
	{"#role,", func(c *Column) *string { return (*string)(&c.Role) }},
	{"#unit,", func(c *Column) *string { return (*string)(&c.Unit) }},
	{"#label,", func(c *Column) *string { return &c.Label }},
}

// WriteCSV writes the table as CSV that [ReadCSV] reads back. Lines before the header that
// begin with # say what the columns are; to other programs they are comments.
func (t *Table) WriteCSV(w io.Writer) error {
	var b bytes.Buffer
	for _, a := range annotations {
		texts := lists.Map(t.Columns, func(c Column) string { return *a.of(&c) })
		if strings.Join(texts, "") != "" {
			b.WriteString(a.word)
			writeRecord(&b, texts)
		}
	}
	writeRecord(&b, t.Names())
	if _, err := w.Write(b.Bytes()); err != nil {
		return err
	}
	return t.WriteCSVRows(w)
}

// WriteCSVRows writes the rows of the table as [Table.WriteCSV] does, without what comes
// before them: rows can be added to a file as they are ready.
func (t *Table) WriteCSVRows(w io.Writer) error {
	var b bytes.Buffer
	for _, row := range t.Rows {
		writeRecord(&b, lists.Map(row, Text))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// writeRecord writes a line of cells, quoted where the line would be read as something else:
// an empty line is none, and one that begins with # a comment.
func writeRecord(b *bytes.Buffer, cells []string) {
	for i, cell := range cells {
		if i > 0 {
			b.WriteByte(',')
		}
		if strings.ContainsAny(cell, ",\"\r\n") || strings.HasPrefix(cell, "#") || cell == "" && len(cells) == 1 {
			cell = `"` + strings.ReplaceAll(cell, `"`, `""`) + `"`
		}
		b.WriteString(cell)
	}
	b.WriteByte('\n')
}

// ReadCSV reads a table. Lines that begin with # are comments, some of which before the
// header say what the columns are.
func ReadCSV(in io.Reader) (*Table, error) {
	r := bufio.NewReader(in)
	said, err := readAnnotations(r)
	if err != nil {
		return nil, err
	}
	c := csv.NewReader(r)
	c.Comment = '#'
	header, err := c.Read()
	if err == io.EOF {
		return nil, errors.New("no line with the names of columns: the file is empty or was cut off")
	}
	if err != nil {
		return nil, err
	}
	t, seen := &Table{}, map[string]bool{}
	for _, name := range header {
		if seen[name] {
			return nil, fmt.Errorf("two columns %q: give each a name of its own", name)
		}
		seen[name] = true
		t.Columns = append(t.Columns, Column{Name: name})
	}
	for _, a := range annotations {
		texts, ok := said[a.word]
		if ok && len(texts) != len(header) {
			return nil, fmt.Errorf("the comment %s has %d cells for %d columns: delete it, or give one for each", a.word, len(texts), len(header))
		}
		for i, text := range texts {
			*a.of(&t.Columns[i]) = text
		}
	}
	for _, c := range t.Columns {
		if err := c.check(); err != nil {
			return nil, err
		}
	}
	records, err := c.ReadAll()
	if err != nil {
		return nil, err
	}
	for _, record := range records {
		t.Rows = append(t.Rows, lists.Make(len(record), func(i int) any { return parseCell(record[i]) }))
	}
	t.adoptUnits()
	return t, nil
}

// readAnnotations reads the comments before the header, and returns those that say what
// columns are.
func readAnnotations(r *bufio.Reader) (map[string][]string, error) {
	said := map[string][]string{}
	for {
		if first, err := r.Peek(1); err != nil || first[0] != '#' {
			return said, nil // an error comes again
		}
		line, err := r.ReadString('\n')
		if err != nil && err != io.EOF {
			return nil, err
		}
		for _, a := range annotations {
			if rest, ok := strings.CutPrefix(line, a.word); ok {
				c := csv.NewReader(strings.NewReader(rest))
				if said[a.word], err = c.Read(); err != nil && err != io.EOF {
					return nil, fmt.Errorf("the comment %s: %w", a.word, err)
				}
			}
		}
	}
}

// jsonNumber is how JSON writes numbers.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// parseCell returns the cell of a text.
func parseCell(text string) any {
	switch {
	case text == "":
		return nil
	case text == "true" || text == "false":
		return text == "true"
	case jsonNumber.MatchString(text):
		return json.Number(text)
	}
	return text
}
