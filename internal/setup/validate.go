package setup

import (
	"context"
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/file"
)

// Validation is the result of checking a configuration.
type Validation struct {
	Name       string          `json:"name"` // name as it was given
	OK         bool            `json:"ok"`
	Source     string          `json:"source,omitempty"` // source of a valid configuration
	Hash       string          `json:"hash,omitempty"`
	PEs        int             `json:"pes,omitempty"`        // number of PEs of a system
	Algorithms []string        `json:"algorithms,omitempty"` // names of the entries of a ccl.yaml
	Errors     []*config.Error `json:"errors"`

	Err  error  `json:"-"` // all mistakes
	Text string `json:"-"` // a line about a valid configuration
}

// Validate checks the configuration of kind k, which must be the only kind of the choice.
// It returns the mistakes, or the source, hash and size of a valid configuration.
func (c *Choice) Validate(ctx context.Context, k *Kind) Validation {
	name := *c.File(k)
	l, err := c.Load(ctx)
	if err == nil {
		err = l.AddTo(new(file.Uses)).Check()
	}
	v := Validation{Name: name, OK: err == nil, Errors: []*config.Error{}, Err: err}
	for _, e := range config.Flatten(err) {
		at := &config.Error{File: name, Msg: e.Error()}
		errors.As(e, &at)
		v.Errors = append(v.Errors, at)
	}
	if v.OK {
		v.Source, v.Hash = l.Config().Source(), l.Config().Hash()
		v.Text = fmt.Sprintf("%s: ok (%s, hash %s)", v.Source, k.size(l, &v), v.Hash)
	}
	return v
}
