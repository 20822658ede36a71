package npy

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// parser reads the few forms of Python's literals that headers have. Its methods
// pass over white space first.
type parser struct {
	text string
	at   int // how much of it is read
}

// malformed says what is wrong with a header from one of its bytes on.
func malformed(at int, format string, args ...any) error {
	return fmt.Errorf("byte %d of the header: %s: %s", at, fmt.Sprintf(format, args...), saveAgain)
}

// next is the next character, or 0 at the end.
func (p *parser) next() byte {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

// take reads a character if it is the next.
func (p *parser) take(c byte) bool {
	if p.next() != c {
		return false
	}
	p.at++
	return true
}

// want reads a character that must be there.
func (p *parser) want(c byte) error {
	if !p.take(c) {
		return p.unexpected(string(c))
	}
	return nil
}

// unexpected says what is there and what should be.
func (p *parser) unexpected(want string) error {
	found := "the end"
	if p.next(); p.at < len(p.text) {
		found = fmt.Sprintf("%.20q", p.text[p.at:])
	}
	return malformed(p.at, "%s where %s should be", found, want)
}

// quoted reads a string.
func (p *parser) quoted() (string, error) {
	quote := p.next()
	if quote != '\'' && quote != '"' {
		return "", p.unexpected("a string in quotes")
	}
	text, _, ok := strings.Cut(p.text[p.at+1:], string(quote))
	if !ok || strings.ContainsAny(text, "\\\n") {
		return "", p.unexpected("a string without escapes, on one line, in quotes")
	}
	p.at += len(text) + 2
	return text, nil
}

// descr reads a dtype, which may be a list of fields.
func (p *parser) descr() (string, error) {
	if p.next() == '[' {
		return "", errors.New("the dtype is a structure: save each of its fields as an array")
	}
	return p.quoted()
}

// boolean reads True or False.
func (p *parser) boolean() (bool, error) {
	p.next()
	switch rest := p.text[p.at:]; {
	case strings.HasPrefix(rest, "True"):
		p.at += len("True")
		return true, nil
	case strings.HasPrefix(rest, "False"):
		p.at += len("False")
		return false, nil
	}
	return false, p.unexpected("True or False")
}

// tuple reads numbers in parentheses. Of one number it needs the comma, without
// which Python has a number.
func (p *parser) tuple() ([]int, error) {
	if err := p.want('('); err != nil {
		return nil, err
	}
	numbers := []int{}
	for !p.take(')') {
		n, err := p.number()
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, n)
		if p.take(',') {
			continue
		}
		if len(numbers) == 1 {
			return nil, p.unexpected("a comma behind the only extent")
		}
		if err := p.want(')'); err != nil {
			return nil, err
		}
		break
	}
	return numbers, nil
}

// number reads an extent. Like Python it takes no zeros ahead of other digits.
func (p *parser) number() (int, error) {
	p.next()
	rest := p.text[p.at:]
	digits := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	if digits == "" || digits[0] == '0' && digits != "0" {
		return 0, p.unexpected("an extent, 0 or more in decimal digits")
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0, fmt.Errorf("extent %.40s is too large: split the array", digits)
	}
	p.at += len(digits)
	return n, nil
}
