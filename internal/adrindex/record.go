package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// record is what the index says about one decision.
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

// parseRecord reads a decision record and lists what is wrong with it.
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

// field is the rest of the line that begins with prefix, or "".
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

// checkSections requires each section once, in order, with text in it. Further
// sections are free.
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
