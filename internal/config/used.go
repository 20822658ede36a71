package config

import "fmt"

// Used is a configuration that a result was made with.
type Used struct {
	Source string `json:"source"` // a path or "preset NAME", and what --set changed
	Hash   string `json:"hash"`   // of the effective configuration
}

// UsedBy returns the source and the hash of a configuration.
func UsedBy(c interface {
	Source() string
	Hash() string
}) Used {
	return Used{Source: c.Source(), Hash: c.Hash()}
}

// String returns the source and the hash: "preset ring6 (hash 0123)".
func (u Used) String() string { return fmt.Sprintf("%s (hash %s)", u.Source, u.Hash) }

// Line returns the line of a text report that names the configuration, without a newline.
func (u Used) Line(kind string) string { return fmt.Sprintf("# %s: %v", kind, u) }
