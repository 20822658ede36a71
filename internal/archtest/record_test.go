package archtest

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"time"
)

// indexFile is the name of the index in the folder of the records.
const indexFile = "README.md"

// record is the entry of a decision in the index. The record of a decision is a file
// NNNN-title.md. Numbers start at 0001 and have no gaps, so that two branches that use the
// same number conflict. The file has the form
//
//	# NNNN: Title
//
//	Status: accepted
//	Date: 2026-11-15
//
//	## Context
//	## Decision
//	## Consequences
//
// with text under each heading. Status is proposed, accepted, rejected, or
// "superseded by NNNN".
type record struct {
	number string // four digits
	file   string
	title  string
	status string
}

var (
	fileName    = regexp.MustCompile(`^(\d{4})-[a-z0-9]+(-[a-z0-9]+)*\.md$`)
	titleLine   = regexp.MustCompile(`^# (\d{4}): (\S.*)$`)
	statusValue = regexp.MustCompile(`^(proposed|accepted|rejected|superseded by \d{4})$`)
)

var sections = []string{"## Context", "## Decision", "## Consequences"}

// parseRecord parses the text of a decision record. r is the entry of the record in the
// index; problems lists the mistakes in the text.
func parseRecord(file, text string) (r record, problems []string) {
	r.file = file
	name := fileName.FindStringSubmatch(file)
	if name == nil {
		return r, []string{"the name must be NNNN-title.md, the title in lower case with dashes"}
	}
	r.number = name[1]

	lines := strings.Split(text, "\n")
	if title := titleLine.FindStringSubmatch(lines[0]); title == nil {
		problems = append(problems, fmt.Sprintf("the first line is %q; want %q", lines[0], "# "+r.number+": Title"))
	} else {
		if title[1] != r.number {
			problems = append(problems, fmt.Sprintf("the title has number %s and the file name %s", title[1], r.number))
		}
		r.title = title[2]
	}

	head, body := lines[1:], []string(nil)
	if i := slices.IndexFunc(head, func(l string) bool { return strings.HasPrefix(l, "## ") }); i >= 0 {
		head, body = head[:i], head[i:]
	}
	r.status = field(head, "Status: ")
	if !statusValue.MatchString(r.status) {
		problems = append(problems, fmt.Sprintf("the status is %q; want a line \"Status: \" and proposed, accepted, rejected or superseded by NNNN", r.status))
	}
	if date := field(head, "Date: "); !isDate(date) {
		problems = append(problems, fmt.Sprintf("the date is %q; want a line \"Date: \" and year-month-day", date))
	}
	return r, append(problems, checkSections(body)...)
}

// field returns the rest of the first line that begins with prefix, or "" if there is no
// such line.
func field(lines []string, prefix string) string {
	for _, l := range lines {
		if value, ok := strings.CutPrefix(l, prefix); ok {
			return value
		}
	}
	return ""
}

func isDate(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

// checkSections checks that each required section is present once, in order, and not empty.
// Other sections are allowed.
func checkSections(body []string) (problems []string) {
	var order []string
	filled := map[string]bool{}
	current := ""
	for _, l := range body {
		switch {
		case slices.Contains(sections, l):
			order = append(order, l)
			current = l
		case strings.HasPrefix(l, "## "):
			current = ""
		case strings.TrimSpace(l) != "":
			filled[current] = true
		}
	}
	if !slices.Equal(order, sections) {
		return []string{fmt.Sprintf("the sections are %q; want %q", order, sections)}
	}
	for _, s := range sections {
		if !filled[s] {
			problems = append(problems, fmt.Sprintf("section %q is empty", s))
		}
	}
	return problems
}

// index returns the text of the index of the records in fsys, or an error that joins all
// mistakes in the records.
func index(fsys fs.FS) (string, error) {
	names, err := fs.Glob(fsys, "*.md")
	if err != nil {
		return "", err
	}
	var records []record
	var problems []error
	for _, name := range names { // in order of number
		if name == indexFile {
			continue
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return "", err
		}
		r, wrong := parseRecord(name, string(text))
		for _, w := range wrong {
			problems = append(problems, fmt.Errorf("%s: %s", name, w))
		}
		if r.number != "" {
			records = append(records, r)
		}
	}
	problems = append(problems, checkNumbers(records)...)
	if len(problems) > 0 {
		return "", errors.Join(problems...)
	}
	return list(records), nil
}

// checkNumbers checks that the records are numbered 1, 2, 3, …, and that each record named
// in a "superseded by" status exists.
func checkNumbers(records []record) (problems []error) {
	byNumber := map[string]string{} // from number to file
	for _, r := range records {
		if other, ok := byNumber[r.number]; ok {
			problems = append(problems, fmt.Errorf("%s: number %s is taken by %s; use the next free one", r.file, r.number, other))
			continue
		}
		byNumber[r.number] = r.file
	}
	for i := range len(byNumber) {
		if number := fmt.Sprintf("%04d", i+1); byNumber[number] == "" {
			problems = append(problems, fmt.Errorf("there is no record %s though there are %d; number them without gaps", number, len(byNumber)))
		}
	}
	for _, r := range records {
		if by, ok := strings.CutPrefix(r.status, "superseded by "); ok && byNumber[by] == "" {
			problems = append(problems, fmt.Errorf("%s: superseded by %s, which does not exist", r.file, by))
		}
	}
	return problems
}

// list returns the text of the index, with a line for each record. The line has the status
// unless the record is accepted.
func list(records []record) string {
	var b strings.Builder
	b.WriteString("<!-- Generated by go test ./internal/archtest -update; do not edit. -->\n\n# Decisions\n\n")
	for _, r := range records {
		fmt.Fprintf(&b, "- [%s](%s) %s", r.number, r.file, r.title)
		if r.status != "accepted" {
			fmt.Fprintf(&b, " (%s)", r.status)
		}
		b.WriteString("\n")
	}
	return b.String()
}
