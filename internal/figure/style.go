package figure

import (
	"unicode/utf8"

	"github.com/kernbench/kernbench/internal/printable"
)

// look is what a block or wire is for, which decides its colour.
type look uint8

const (
	outside look = iota // host and what is not part of the view
	fabric              // between SIPs
	die                 // between dies: UCIe
	onDie               // routers, switches and links of a die
	compute
	memory
	control
	command // a wire that carries no data
	numLooks
)

// paint is how a look is coloured: lines in a colour of the Okabe-Ito palette,
// which colour-blind readers tell apart, boxes filled with a tint of it.
type paint struct{ line, fill string }

var paints = [numLooks]paint{
	outside: {"#7a7a7a", "#eeeeee"},
	fabric:  {"#0072b2", "#cfe3f1"}, // blue
	die:     {"#e69f00", "#fdf0d2"}, // orange
	onDie:   {"#333333", "#ffffff"}, // black
	compute: {"#009e73", "#d5f0e7"}, // bluish green
	memory:  {"#3a9fd8", "#e3f2fc"}, // sky blue, darkened to stand out as a line
	control: {"#b8608f", "#f7e4ee"}, // reddish purple, darkened
	command: {"#8a8a8a", "#ffffff"},
}

// The colours beside those of looks.
const (
	ink       = "#1a1a1a"
	faint     = "#5f5f5f"
	paper     = "#ffffff"
	frameLine = "#9a9a9a"
	frameFill = "#fafafa"
	alarm     = "#d55e00" // vermilion: overridden links
)

// Sizes in pixels of a slide 1600 wide.
const (
	slideW, slideH = 1600, 900
	margin         = 32
	header         = 92  // title and subtitle
	legendW        = 330 // right of the picture

	sizeTitle = 30
	sizeHead  = 18
	sizeText  = 15
	sizeMore  = 12 // smaller text than this is the name alone
	sizeMin   = 9  // and smaller than this is left out

	lineHeight = 5 // quarters of the font size
)

// width returns an upper bound for the width of a text as svg.text writes it: an em is
// never that wide in common sans-serif fonts, on average over a word.
func width(text string, size int, bold bool) int {
	return (utf8.RuneCountInString(printable.Line(text))*size*perMille(bold) + 999) / 1000
}

// room is how many characters are at most as wide as that.
func room(width, size int, bold bool) int { return width * 1000 / (size * perMille(bold)) }

// perMille is the width of a character, of the size of its font.
func perMille(bold bool) int {
	if bold {
		return 650
	}
	return 600
}

// bounds is the space that a label takes.
func (l label) bounds() rect {
	w, h := width(l.text, l.size, l.bold), l.size*lineHeight/4
	switch {
	case l.left:
		return rect{l.at.x, l.at.y - h/2, w, h}
	case l.right:
		return rect{l.at.x - w, l.at.y - h/2, w, h}
	}
	return rect{l.at.x - w/2, l.at.y - h/2, w, h}
}

// labels is the text of a block: as many of its lines as fit, all at one size,
// the largest that lets most of them in.
func (b block) labels() []label {
	const pad = 4
	for n := len(b.lines); n > 0; n-- {
		least := sizeMin
		if n > 1 {
			least = sizeMore
		}
		for size := sizeHead; size >= least; size-- {
			if ls := b.set(b.lines[:n], size); fits(ls, rect{b.x + pad, b.y + 2, b.w - 2*pad, b.h - 4}) {
				return ls
			}
		}
	}
	return nil
}

// set centres lines in the block, those after the first a little smaller.
func (b block) set(lines []string, size int) []label {
	small := max(size-3, sizeMin)
	height := size * lineHeight / 4
	height += (len(lines) - 1) * small * lineHeight / 4
	y := b.y + (b.h-height)/2
	var ls []label
	for i, text := range lines {
		l := label{text: text, size: small, colour: ink}
		if i == 0 {
			l.size, l.bold = size, true
		}
		h := l.size * lineHeight / 4
		l.at = point{b.x + b.w/2, y + h/2}
		y += h
		ls = append(ls, l)
	}
	return ls
}

func fits(ls []label, in rect) bool {
	for _, l := range ls {
		if !in.holds(l.bounds()) {
			return false
		}
	}
	return true
}
