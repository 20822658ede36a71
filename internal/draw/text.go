package draw

import (
	"math"
	"sort"
	"strings"
	"sync"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"

	"github.com/kernbench/kernbench/internal/printable"
)

// style describes how text looks and where its anchor is.
type style struct {
	size   float64
	bold   bool
	colour colour // 0 for ink
	anchor anchor
	turn   float64 // clockwise rotation around the anchor in degrees; see upwards
}

// anchor selects the point of a text that is placed: its start, its middle or its end.
type anchor uint8

const (
	atStart anchor = iota
	atMiddle
	atEnd
)

const (
	upwards   = -90  // turn of text that reads from the bottom up
	capHeight = 0.72 // height of capital letters relative to the text size
)

// face is a font of the program.
type face struct {
	mu     sync.Mutex
	font   *sfnt.Font
	buffer sfnt.Buffer
	em     fixed.Int26_6 // font units per em
	glyphs map[rune]*glyph
}

// glyph is a character, with its measures in ems.
type glyph struct {
	index   sfnt.GlyphIndex
	advance float64
	outline path
}

// faces returns the regular and the bold font. It parses them when it is called first.
var faces = sync.OnceValue(func() [2]*face {
	var parsed [2]*face
	for i, ttf := range [][]byte{liberationsansregular.TTF, liberationsansbold.TTF} {
		f, err := sfnt.Parse(ttf)
		if err != nil {
			panic(err) // the fonts are part of the program
		}
		parsed[i] = &face{font: f, em: fixed.Int26_6(f.UnitsPerEm()), glyphs: map[rune]*glyph{}}
	}
	return parsed
})

// face returns the font of the style.
func (s style) face() *face {
	if s.bold {
		return faces()[1]
	}
	return faces()[0]
}

// glyph returns the glyph of a character. A character that the font lacks becomes a box one
// em wide. That is wide enough for the other fonts in which a viewer may show the
// character.
func (f *face) glyph(r rune) *glyph {
	if g := f.glyphs[r]; g != nil {
		return g
	}
	g := &glyph{advance: 1}
	f.glyphs[r] = g
	index, err := f.font.GlyphIndex(&f.buffer, r)
	if err != nil {
		return g
	}
	g.index = index
	if advance, err := f.font.GlyphAdvance(&f.buffer, index, f.em, font.HintingNone); err == nil && index != 0 {
		g.advance = f.ems(advance)
	}
	segments, err := f.font.LoadGlyph(&f.buffer, index, f.em, nil)
	if err != nil {
		return g
	}
	for i, s := range segments {
		if s.Op == sfnt.SegmentOpMoveTo && i > 0 {
			g.outline.close()
		}
		var at [2]point
		for i := range at {
			at[i] = point{f.ems(s.Args[i].X), f.ems(s.Args[i].Y)}
		}
		// The fonts are TrueType: their curves are quadratic.
		g.outline = append(g.outline, segment{[...]verb{sfnt.SegmentOpMoveTo: moveTo, sfnt.SegmentOpLineTo: lineTo, sfnt.SegmentOpQuadTo: quadTo}[s.Op], at})
	}
	if len(segments) > 0 {
		g.outline.close()
	}
	return g
}

// ems converts font units to ems.
func (f *face) ems(v fixed.Int26_6) float64 { return float64(v) / float64(f.em) }

// layoutGlyphs calls the function `do` with each glyph of a printable text and the position
// where the glyph starts. It returns the position after the last glyph. Positions are in
// ems.
func (f *face) layoutGlyphs(text string, do func(g *glyph, at float64)) float64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, before := 0.0, sfnt.GlyphIndex(0)
	for _, r := range text {
		g := f.glyph(r)
		if kern, err := f.font.Kern(&f.buffer, before, g.index, f.em, font.HintingNone); err == nil && before != 0 {
			at += f.ems(kern)
		}
		do(g, at)
		at, before = at+g.advance, g.index
	}
	return at
}

// width returns the width of a text in pixels. It measures the text that the canvas writes,
// in which unprintable characters are replaced.
func (s style) width(text string) float64 {
	return s.size * s.face().layoutGlyphs(printable.Line(text), func(*glyph, float64) {})
}

// widest returns the width of the widest text in texts, in pixels.
func (s style) widest(texts ...string) float64 {
	widest := 0.0
	for _, text := range texts {
		widest = max(widest, s.width(text))
	}
	return widest
}

// lineHeight returns the distance between lines of text.
func (s style) lineHeight() float64 { return s.size * 1.25 }

// outline returns the contours of a text whose baseline starts at the origin.
func (s style) outline(text string) path {
	var p path
	s.face().layoutGlyphs(text, func(g *glyph, at float64) {
		p = append(p, g.outline.transform(func(q point) point { return q.add(point{at, 0}).scale(s.size) })...)
	})
	return p
}

// baseline returns the start of the text's baseline relative to its anchor, before
// rotation.
func (w textLine) baseline() point {
	return point{-w.width(w.text) * float64(w.anchor) / 2, w.size * capHeight / 2}
}

// rotate converts p to a position on the canvas. p is relative to the anchor of the text
// before the text is rotated.
func (w textLine) rotate(p point) point {
	sin, cos := math.Sincos(w.turn * math.Pi / 180)
	if w.turn == upwards { // avoids rounding errors
		sin, cos = -1, 0
	}
	return w.at.add(point{p.x*cos - p.y*sin, p.x*sin + p.y*cos})
}

// wrap breaks a text into lines of at most maxWidth pixels. It breaks at spaces. If
// atUnderscores is set, it also breaks after underscores. A word that is wider than
// maxWidth has its own line.
func (s style) wrap(text string, maxWidth float64, atUnderscores bool) []string {
	var lines []string
	for _, word := range strings.Fields(text) {
		word = printable.Line(word)
		parts := []string{word}
		if atUnderscores {
			parts = strings.SplitAfter(word, "_")
		}
		for i, part := range parts {
			glue := ""
			if i == 0 {
				glue = " "
			}
			if n := len(lines); n > 0 && s.width(lines[n-1]+glue+part) <= maxWidth {
				lines[n-1] += glue + part
				continue
			}
			lines = append(lines, part)
		}
	}
	return lines
}

// cut returns a text of at most maxWidth. It replaces the end of a wider text with an
// ellipsis, or returns "" if even the ellipsis does not fit.
func (s style) cut(text string, maxWidth float64) string {
	if text = printable.Line(text); s.width(text) <= maxWidth {
		return text
	}
	runes := []rune(text)
	n := sort.Search(len(runes)+1, func(n int) bool { return s.width(string(runes[:n])+"…") > maxWidth })
	if n == 0 { // no space for the ellipsis
		return ""
	}
	return string(runes[:n-1]) + "…"
}

// bounds returns the rectangle that a text covers if it is not rotated.
func (w textLine) bounds() rect {
	width, height := w.width(w.text), w.lineHeight()
	return rect{w.at.x - width*float64(w.anchor)/2, w.at.y - height/2, width, height}
}
