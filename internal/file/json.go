package file

import (
	"encoding/json"
	"errors"
	"io"
)

// maxBlanks is the most blanks in a row that JSON may have.
const maxBlanks = 1 << 16

// NewDecoder returns a decoder of JSON whose time is linear in the length of the text. The
// decoder of the standard library goes over blanks again whenever it reads more text, so
// that long rows of blanks take quadratic time: these are refused.
func NewDecoder(r io.Reader) *json.Decoder { return json.NewDecoder(&blankGuard{r: r}) }

type blankGuard struct {
	r      io.Reader
	blanks int // in a row, at the end of what was read
}

func (g *blankGuard) Read(p []byte) (int, error) {
	n, err := g.r.Read(p)
	for _, b := range p[:n] {
		switch b {
		case ' ', '\t', '\n', '\r':
			if g.blanks++; g.blanks > maxBlanks {
				return 0, errors.New("this is no JSON: it has more than 65536 blanks in a row")
			}
		default:
			g.blanks = 0
		}
	}
	return n, err
}
