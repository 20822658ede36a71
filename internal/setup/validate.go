package setup

import (
	"context"
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/file"
)

// Validation is a configuration that was checked.
type Validation struct {
	Name       string          `json:"name"` // as it was given
	OK         bool            `json:"ok"`
	Source     string          `json:"source,omitempty"` // of a good one
	Hash       string          `json:"hash,omitempty"`
	PEs        int             `json:"pes,omitempty"`        // of a system
	Algorithms []string        `json:"algorithms,omitempty"` // that a ccl.yaml names
	Errors     []*config.Error `json:"errors"`

	Err  error  `json:"-"` // all mistakes
	Text string `json:"-"` // a line about a good one
}

// Validate checks the configuration of a kind that a choice names, alone.
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
