package npy

import "strings"

// header is what the dictionary of a file says.
type header struct {
	descr   string
	fortran bool // the first index changes fastest
	shape   []int
}

// parseHeader reads a dictionary of exactly the three keys, in any order, with
// spaces behind it and a newline at the end.
func parseHeader(text string) (h header, err error) {
	p := parser{text: text}
	if err := p.want('{'); err != nil {
		return h, err
	}
	seen := map[string]bool{}
	for !p.take('}') {
		start := p.at
		key, err := p.quoted()
		if err != nil {
			return h, err
		}
		if seen[key] {
			return h, malformed(start, "key '%s' is there twice", key)
		}
		seen[key] = true
		if err := p.want(':'); err != nil {
			return h, err
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
		if err != nil {
			return h, err
		}
		if p.take(',') {
			continue
		}
		if err := p.want('}'); err != nil {
			return h, err
		}
		break
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
