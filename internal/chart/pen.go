package chart

import (
	"image/color"
	"math"
	"strings"
	"sync"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	xfont "golang.org/x/image/font"
	"golang.org/x/image/font/opentype"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"

	"github.com/kernbench/kernbench/internal/printable"
)

// pen draws on a canvas whose y axis points up.
type pen struct{ vg.Canvas }

// style is how text looks and where its anchor is.
type style struct {
	size   vg.Length
	bold   bool
	colour color.Color // nil: ink
	across align       // of the anchor in the text
	up     bool        // turned by a quarter, to read from the bottom up
}

// align is where the anchor of a text lies: at its start, in its middle or at its end.
type align float64

const (
	atStart align = iota
	atMiddle
	atEnd
)

// fonts are parsed when the first figure needs them.
var fonts = sync.OnceValue(func() [2]*opentype.Font {
	var parsed [2]*opentype.Font
	for i, ttf := range [][]byte{liberationsansregular.TTF, liberationsansbold.TTF} {
		f, err := opentype.Parse(ttf)
		if err != nil {
			panic(err) // the fonts are part of the program
		}
		parsed[i] = f
	}
	return parsed
})

func (s style) face() font.Face {
	f := font.Font{Typeface: "Liberation", Variant: "Sans", Size: s.size}
	if s.bold {
		f.Weight = xfont.WeightBold
		return font.Face{Font: f, Face: fonts()[1]}
	}
	return font.Face{Font: f, Face: fonts()[0]}
}

// width returns the width of a text as pen.text writes it.
func (s style) width(text string) vg.Length {
	face := s.face()
	return face.Width(printable.Line(text))
}

// wrap is a text in lines of at most a width, broken at spaces, and if within words
// behind underscores.
func (s style) wrap(text string, most vg.Length, within bool) []string {
	var lines []string
	for _, word := range strings.Fields(text) {
		word = printable.Line(word)
		parts := []string{word}
		if within {
			parts = strings.SplitAfter(word, "_")
		}
		for i, part := range parts {
			glue := ""
			if i == 0 {
				glue = " "
			}
			if n := len(lines); n > 0 && s.width(lines[n-1]+glue+part) <= most {
				lines[n-1] += glue + part
				continue
			}
			lines = append(lines, part)
		}
	}
	return lines
}

// cut is a text of at most a width, with dots where the rest was.
func (s style) cut(text string, most vg.Length) string {
	text = printable.Line(text)
	short := []rune(text)
	for s.width(text) > most && len(short) > 0 {
		short = short[:len(short)-1]
		text = string(short) + "…"
	}
	return text
}

// lineHeight is the distance of lines of text.
func (s style) lineHeight() vg.Length { return s.size * 1.25 }

// text writes one line, the anchor at the middle of its capitals' height. What is not
// printable is escaped.
func (p pen) text(s style, at vg.Point, text string) {
	if text == "" {
		return
	}
	text = printable.Line(text)
	if s.colour == nil {
		s.colour = ink
	}
	p.SetColor(s.colour)
	const capHeight = 0.72 // of the size
	shift := vg.Point{X: -s.width(text) * vg.Length(s.across) / 2, Y: -s.size * capHeight / 2}
	if !s.up {
		p.FillString(s.face(), at.Add(shift), text)
		return
	}
	p.Push()
	defer p.Pop()
	p.Translate(at)
	p.Rotate(math.Pi / 2)
	p.FillString(s.face(), shift, text)
}

// line strokes a line through points.
func (p pen) line(c color.Color, width vg.Length, dashes []vg.Length, points ...vg.Point) {
	p.SetColor(c)
	p.SetLineWidth(width)
	p.SetLineDash(dashes, 0)
	p.Stroke(path(points, false))
}

// shape fills a polygon.
func (p pen) shape(c color.Color, points ...vg.Point) {
	p.SetColor(c)
	p.Fill(path(points, true))
}

// box fills a rectangle.
func (p pen) box(c color.Color, r vg.Rectangle) { p.shape(c, corners(r)...) }

func corners(r vg.Rectangle) []vg.Point {
	return []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}}
}

func path(points []vg.Point, closed bool) vg.Path {
	var way vg.Path
	for i, at := range points {
		if i == 0 {
			way.Move(at)
			continue
		}
		way.Line(at)
	}
	if closed {
		way.Close()
	}
	return way
}
