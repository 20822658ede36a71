package scenario

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/internal/config"
)

// Param is a parameter of a scenario: a number, or some words of which one is chosen.
type Param struct {
	Words []string // the first is the default; nil of a number

	number number // the default
}

// parseParam reads a parameter as files write it: 256, 0.5 or ring|tree.
func parseParam(text string) (p Param, err error) {
	if p.number, err = parseNumber(text); err == nil {
		return p, nil
	}
	p.Words = strings.Split(text, "|")
	for i, w := range p.Words {
		w = strings.TrimSpace(w)
		if !isName(w) {
			return p, fmt.Errorf("%.60q is neither a number nor words: write 256, or ring|tree with the default first", text)
		}
		if slices.Contains(p.Words[:i], w) {
			return p, fmt.Errorf("the word %s is there twice: delete one", w)
		}
		p.Words[i] = w
	}
	return p, nil
}

func parseNumber(text string) (x number, err error) {
	if x.n, err = strconv.ParseInt(text, 10, 64); err == nil {
		return x, nil
	}
	if strings.Trim(text, "+-.0123456789eE") != "" { // Inf, NaN, 0x1p-2, 1_000
		return x, errors.New("no number")
	}
	x.fraction = true
	x.f, err = strconv.ParseFloat(text, 64)
	return x, err
}

// String is the parameter as files write it.
func (p Param) String() string {
	if p.Words == nil {
		return p.number.String()
	}
	return strings.Join(p.Words, "|")
}

// choose is the value that a text says, or the default for "".
func (p Param) choose(text string) (setting, error) {
	switch {
	case p.Words != nil && text == "":
		return setting{word: p.Words[0]}, nil
	case p.Words != nil:
		if !slices.Contains(p.Words, text) {
			return setting{}, fmt.Errorf("write one of %s%s", strings.Join(p.Words, ", "), config.DidYouMean(text, p.Words))
		}
		return setting{word: text}, nil
	case text == "":
		return setting{number: p.number}, nil
	}
	x, err := parseNumber(text)
	switch {
	case err != nil:
		return setting{}, fmt.Errorf("write a number such as %v", p.number)
	case x.fraction && !p.number.fraction:
		return setting{}, fmt.Errorf("write a whole number such as %v", p.number)
	}
	return setting{number: x}, nil
}

// setting is the value of a parameter.
type setting struct {
	word   string // if it is one
	number number
}

func (s setting) String() string {
	if s.word != "" {
		return s.word
	}
	return s.number.String()
}
