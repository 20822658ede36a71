package npy

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/kernbench/kernbench/numeric"
)

// header is the dictionary of a file.
type header struct {
	descr   string
	fortran bool // the first index changes fastest
	shape   []int
}

// parseHeader parses a dictionary with exactly three keys, in any order, followed by
// spaces and a newline.
func parseHeader(text string) (h header, err error) {
	p := parser{text: text}
	seen := map[string]bool{}
	err = p.list('{', '}', func() error {
		start := p.at
		key, err := p.stringLiteral()
		if err != nil {
			return err
		}
		if seen[key] {
			return malformed(start, "key '%s' is there twice", key)
		}
		seen[key] = true
		if err := p.want(':'); err != nil {
			return err
		}
		switch key {
		case "descr":
			h.descr, err = p.descr()
		case "fortran_order":
			h.fortran, err = p.boolean()
		case "shape":
			h.shape, err = p.tuple()
		default:
			err = malformed(start, "there is no key %.40q", key)
		}
		return err
	})
	if err != nil {
		return h, err
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if !seen[key] {
			return h, malformed(p.at, "key '%s' is missing", key)
		}
	}
	if rest := text[p.at:]; strings.TrimLeft(rest, " ") != "\n" {
		return h, malformed(p.at, "%.20q where spaces and a newline should be", rest)
	}
	return h, nil
}

// Array is the contents of a file: elements in row-major order, little-endian. An array
// with an empty shape has one element.
type Array struct {
	Shape []int
	DType numeric.DType
	Bytes []byte
	Bool  bool // the elements are bools: the dtype is u8, and each is 0 or 1
}

// byteCount returns the size in bytes of an array with the given shape and dtype. An extent
// that is too large is an error even if another extent is 0, because callers multiply some
// of the extents and must not overflow.
func byteCount(shape []int, d numeric.DType) (int, error) {
	product, empty := d.Size(), false
	for axis, n := range shape {
		switch {
		case n < 0:
			return 0, fmt.Errorf("extent %d of axis %d is negative: an empty array has extent 0", n, axis)
		case n == 0:
			empty = true
		case product > math.MaxInt/n:
			return 0, fmt.Errorf("the extents up to that of axis %d, %d, make more %v than there can be bytes: split the array", axis, n, d)
		default:
			product *= n
		}
	}
	if empty {
		return 0, nil
	}
	return product, nil
}

// codes holds the kind and size that NumPy uses for each dtype. In a header, the order of
// bytes precedes it: '<' little-endian, '>' big-endian, '|' not applicable.
var codes = [...]string{
	numeric.F16: "f2", numeric.BF16: "V2", numeric.F32: "f4", numeric.F64: "f8",
	numeric.I8: "i1", numeric.I16: "i2", numeric.I32: "i4", numeric.I64: "i8",
	numeric.U8: "u1", numeric.U16: "u2", numeric.U32: "u4", numeric.U64: "u8",
}

// descrOf returns the dtype of an array as a header spells it.
func descrOf(a *Array) string {
	switch {
	case a.Bool:
		return "|b1"
	case a.DType.Size() == 1:
		return "|" + codes[a.DType]
	}
	return "<" + codes[a.DType]
}

// isBool reports whether the dtype of a header means bools of one byte each.
func isBool(descr string) bool {
	return len(descr) == 3 && strings.ContainsRune("<>|", rune(descr[0])) && descr[1:] == "b1"
}

// parseDescr returns the dtype and the order of bytes that a header specifies.
func parseDescr(descr string) (d numeric.DType, bigEndian bool, err error) {
	switch {
	case descr == "bfloat16": // without an order: assume that of nearly all machines
		return numeric.BF16, false, nil
	case isBool(descr):
		return numeric.U8, false, nil
	}
	for _, d := range numeric.DTypes {
		switch descr {
		case "<" + codes[d]:
			return d, false, nil
		case ">" + codes[d]:
			return d, true, nil
		case "|" + codes[d]:
			if d.Size() == 1 || d == numeric.BF16 {
				return d, false, nil
			}
		}
	}
	return 0, false, fmt.Errorf("dtype %.40q is not read: convert the array to f2, f4, f8, i1 to i8 or u1 to u8 with < or > before it, |b1, or V2 for bf16", descr)
}

// parser parses the few forms of Python literals that headers contain. Its methods skip
// white space first.
type parser struct {
	text string
	at   int // offset of the next character
}

// malformed returns an error for the byte of the header at offset `at`. `format` and `args`
// say what is wrong there.
func malformed(at int, format string, args ...any) error {
	return fmt.Errorf("byte %d of the header: %s: %s", at, fmt.Sprintf(format, args...), saveAgain)
}

// next skips white space and returns the next character without reading it, or 0 at the
// end.
func (p *parser) next() byte {
	for p.at < len(p.text) && strings.IndexByte(" \t\r\n", p.text[p.at]) >= 0 {
		p.at++
	}
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

// take reads the next character if it is c, and reports whether it was c.
func (p *parser) take(c byte) bool {
	if p.next() != c {
		return false
	}
	p.at++
	return true
}

// list reads a list that begins with the character `open` and ends with the character
// `end`. It calls `item` to read each item. Items are separated by commas; a comma after
// the last item is optional.
func (p *parser) list(open, end byte, item func() error) error {
	if err := p.want(open); err != nil {
		return err
	}
	for !p.take(end) {
		if err := item(); err != nil {
			return err
		}
		if !p.take(',') {
			return p.want(end)
		}
	}
	return nil
}

// want reads the next character if it is c. Otherwise it returns an error.
func (p *parser) want(c byte) error {
	if !p.take(c) {
		return p.unexpected(string(c))
	}
	return nil
}

// unexpected returns an error that shows the next characters, or the end of the header, and
// says that `want` was expected instead.
func (p *parser) unexpected(want string) error {
	found := "the end"
	if p.next(); p.at < len(p.text) {
		found = fmt.Sprintf("%.20q", p.text[p.at:])
	}
	return malformed(p.at, "%s where %s should be", found, want)
}

// stringLiteral reads a string in quotes. Escapes and line breaks in the string are errors.
func (p *parser) stringLiteral() (string, error) {
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

// descr reads a dtype. A list of fields is an error.
func (p *parser) descr() (string, error) {
	if p.next() == '[' {
		return "", errors.New("the dtype is a structure: save each of its fields as an array")
	}
	return p.stringLiteral()
}

// boolean reads True or False.
func (p *parser) boolean() (bool, error) {
	p.next()
	for _, word := range []string{"True", "False"} {
		if strings.HasPrefix(p.text[p.at:], word) {
			p.at += len(word)
			return word == "True", nil
		}
	}
	return false, p.unexpected("True or False")
}

// tuple reads numbers in parentheses. A single number needs a comma behind it, as in
// Python.
func (p *parser) tuple() ([]int, error) {
	numbers := []int{}
	err := p.list('(', ')', func() error {
		n, err := p.number()
		numbers = append(numbers, n)
		if err == nil && len(numbers) == 1 && p.next() != ',' {
			err = p.unexpected("a comma behind the only extent")
		}
		return err
	})
	return numbers, err
}

// number reads an extent. As in Python, leading zeros are not allowed.
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
