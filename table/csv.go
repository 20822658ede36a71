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

// annotations lists the comments before the header of a CSV file that describe the columns.
// Such a comment consists of a word and one cell for each column.
var annotations = []struct {
	word  string
	field func(*Column) *string // returns the field of a column that the cell has
}{
	{"#role,", func(c *Column) *string { return (*string)(&c.Role) }},
	{"#unit,", func(c *Column) *string { return (*string)(&c.Unit) }},
	{"#label,", func(c *Column) *string { return &c.Label }},
}

// WriteCSV writes the table as CSV, from which [ReadCSV] reads the same table. Lines before
// the header that begin with # describe the columns; other programs ignore them as
// comments.
func (t *Table) WriteCSV(w io.Writer) error {
	var b bytes.Buffer
	for _, a := range annotations {
		texts := lists.Map(t.Columns, func(c Column) string { return *a.field(&c) })
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

// WriteCSVRows writes the rows of the table as [Table.WriteCSV] does, without the header
// and the lines before it. With it, a program can append rows to a file as soon as they are
// ready.
func (t *Table) WriteCSVRows(w io.Writer) error {
	var b bytes.Buffer
	for _, row := range t.Rows {
		writeRecord(&b, lists.Map(row, Text))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// writeRecord writes a line of cells to b. It quotes a cell that has a comma, a quote or a
// line break. It also quotes a cell that begins with #, because ReadCSV takes such a line
// for a comment, and an empty cell that is alone in its line, because ReadCSV skips empty
// lines.
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

// ReadCSV reads a table. Lines that begin with # are comments. Before the header, the
// comments of [Table.WriteCSV] describe the columns.
func ReadCSV(in io.Reader) (*Table, error) {
	r := bufio.NewReader(in)
	annotated, err := readAnnotations(r)
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
		texts, ok := annotated[a.word]
		if ok && len(texts) != len(header) {
			return nil, fmt.Errorf("the comment %s has %d cells for %d columns: delete it, or give one for each", a.word, len(texts), len(header))
		}
		for i, text := range texts {
			*a.field(&t.Columns[i]) = text
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

// readAnnotations reads the comments before the header of a CSV file. It returns the cells
// of each comment that describes the columns. The key of the map is the word that the
// comment begins with, such as "#unit,".
func readAnnotations(r *bufio.Reader) (map[string][]string, error) {
	annotated := map[string][]string{}
	for {
		if first, err := r.Peek(1); err != nil || first[0] != '#' {
			return annotated, nil // the next read returns the error again
		}
		line, err := r.ReadString('\n')
		if err != nil && err != io.EOF {
			return nil, err
		}
		for _, a := range annotations {
			if rest, ok := strings.CutPrefix(line, a.word); ok {
				c := csv.NewReader(strings.NewReader(rest))
				if annotated[a.word], err = c.Read(); err != nil && err != io.EOF {
					return nil, fmt.Errorf("the comment %s: %w", a.word, err)
				}
			}
		}
	}
}

// jsonNumber matches numbers in the syntax of JSON.
var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)

// parseCell converts the text of a CSV cell to a cell: nil, a bool, a json.Number or a
// string.
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
