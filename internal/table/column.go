package table

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Column is a column of a table.
type Column struct {
	Name  string `json:"name"`
	Unit  Unit   `json:"unit,omitempty"` // of its numbers; "" if they have none
	Role  Role   `json:"role,omitempty"`
	Label string `json:"label,omitempty"` // the name in words, if underscores are not enough
}

// Role says what the cells of a column are for.
type Role string

// The roles. The zero value is a column of a file that does not say.
const (
	Setting Role = "setting" // tells what a row is about
	Lower   Role = "lower"   // measured, less is better
	Higher  Role = "higher"  // measured, more is better
	Result  Role = "result"  // measured or computed, neither better nor worse
	Bound   Role = "bound"   // computed: what a measured column is compared with
	Check   Role = "check"   // true if values are right, or the number of wrong ones
	Origin  Role = "origin"  // version or hash of what made the row
)

var roles = []Role{Setting, Lower, Higher, Result, Bound, Check, Origin}

// check reports what is wrong with a column that a file or a program declares.
func (c Column) check() error {
	if c.Role != "" && !slices.Contains(roles, c.Role) {
		return fmt.Errorf("column %q has the role %q: write one of %v", c.Name, c.Role, roles)
	}
	return nil
}

// memberOf matches the part of a file that a column is from, before its own name.
var memberOf = regexp.MustCompile(`^((params|metrics|row|point)\.)+`)

// Words returns the name of the column in words, without its unit: of a key such as
// "system.sips.link.bandwidth" the last two, "link bandwidth".
func (c Column) Words() string {
	if c.Label != "" {
		return c.Label
	}
	name := c.Name
	if suffix := units[c.Unit].suffix; suffix != "" {
		name = strings.TrimSuffix(name, suffix)
	}
	keys := strings.Split(memberOf.ReplaceAllString(name, ""), ".")
	name = strings.Join(keys[max(0, len(keys)-2):], " ")
	return strings.NewReplacer("_", " ", "-", " ").Replace(name)
}

// Title returns the name in words with the unit: "time (µs)".
func (c Column) Title() string {
	if c.Unit == "" {
		return c.Words()
	}
	return fmt.Sprintf("%s (%s)", c.Words(), c.Unit)
}
