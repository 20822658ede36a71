package draw

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/png"
	"math"
	"strings"
	"testing"
)

// sketch is a figure that a function draws.
type sketch func(c *canvas) error

func (s sketch) draw(c *canvas) error { return s(c) }

// newSketch returns a figure of 1280×100 pixels, the width at which PNG does not scale.
func newSketch(draw func(c *canvas)) Figure {
	return sketch(func(c *canvas) error {
		c.startPage(1280, 100, "A sketch", "")
		draw(c)
		return nil
	})
}

// mustImage draws a figure as PNG and decodes the picture.
func mustImage(t testing.TB, f Figure) image.Image {
	t.Helper()
	data, err := PNG(f)
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// darkness returns the amount of ink in an area, in pixels of black.
func darkness(img image.Image, in image.Rectangle) float64 {
	sum := 0.0
	for y := in.Min.Y; y < in.Max.Y; y++ {
		for x := in.Min.X; x < in.Max.X; x++ {
			sum += 1 - float64(color.GrayModel.Convert(img.At(x, y)).(color.Gray).Y)/255
		}
	}
	return sum
}

const black colour = 0x000001 // zero means no colour

// TestSVG compares the SVG of all kinds of items with the expected text.
func TestSVG(t *testing.T) {
	got := mustSVG(t, sketch(func(c *canvas) error {
		c.startPage(300, 200.004, "A <b> & \x1b", "two\nlines")
		c.group("tip \"q\"\nmore", func() {
			c.shape(box(rect{10, 20, 30, 40}, 0), paint{fill: 0xd55e00, hatch: rising, over: paper, line: ink, width: 1.5})
			c.shape(box(rect{50, 20, 30, 40}, 0), paint{fill: 0xd55e00, hatch: rising, over: paper})
		})
		c.shape(circle(point{100, 50.5}, 5), paint{line: ink, width: 2, dashes: []float64{3, 4.125}})
		c.shape(roundedLine(10, point{0, 0}, point{30, 0}, point{30, 40}), paint{line: ink, width: 2, arrow: 8})
		c.text(style{size: 10, bold: true, anchor: atMiddle}, point{150, 100}, "<µs>\n")
		c.text(style{size: 10, colour: faint, anchor: atEnd, turn: upwards}, point{20, 100}, "up")
		return nil
	}))
	want := `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 200" width="300" height="200" role="img" font-family="'Liberation Sans', Arimo, Arial, Helvetica, sans-serif" stroke-linejoin="round">
<title>A &lt;b&gt; &amp; \x1b</title>
<desc>two&#xA;lines</desc>
<defs>
<pattern id="hatch1-d55e00-ffffff" patternUnits="userSpaceOnUse" width="10" height="10">
<path d="M0 0H10V10H0Z" fill="#d55e00"/>
<path d="M-10 -10L20 -40M-10 0L20 -30M-10 10L20 -20M-10 20L20 -10M-10 30L20 0M-10 40L20 10" fill="none" stroke="#ffffff" stroke-width="2"/>
</pattern>
</defs>
<path d="M0 0H300V200H0Z" fill="#ffffff"/>
<g>
<title>tip &#34;q&#34;&#xA;more</title>
<path d="M10 20H40V60H10Z" fill="url(#hatch1-d55e00-ffffff)" stroke="#1a1a1a" stroke-width="1.5"/>
<path d="M50 20H80V60H50Z" fill="url(#hatch1-d55e00-ffffff)"/>
</g>
<path d="M95 50.5A5 5 0 1 1 105 50.5A5 5 0 1 1 95 50.5Z" fill="none" stroke="#1a1a1a" stroke-width="2" stroke-dasharray="3 4.13"/>
<path d="M30 40L34 32H26Z" fill="#1a1a1a"/>
<path d="M0 0H20Q30 0 30 10V33.6" fill="none" stroke="#1a1a1a" stroke-width="2"/>
<text x="150" y="103.6" font-size="10" font-weight="bold" text-anchor="middle" fill="#1a1a1a">&lt;µs&gt;\n</text>
<text x="0" y="3.6" transform="translate(20 100) rotate(-90)" font-size="10" text-anchor="end" fill="#5f5f5f">up</text>
</svg>
`
	if string(got) != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestPNG checks that the amount of ink of a shape in a PNG equals the area of the shape.
func TestPNG(t *testing.T) {
	tests := []struct {
		name string
		path path
		with paint
		want float64
	}{
		{"a box", box(rect{10.5, 10, 20, 30.25}, 0), paint{fill: black}, 20 * 30.25},
		{"a circle", circle(point{50, 50}, 20), paint{fill: black}, math.Pi * 400},
		{"two parts", append(box(rect{10, 10, 20, 20}, 0), box(rect{50, 10, 20, 20}, 0)...), paint{fill: black}, 800},
		{"a line", line(point{10, 20}, point{110, 20}), paint{line: black, width: 3}, 300},
		{"a slanted line", line(point{10, 20}, point{40, 60}), paint{line: black, width: 2}, 100},
		{"a corner, round outside", line(point{10, 20}, point{50, 20}, point{50, 60}), paint{line: black, width: 8}, 2*40*8 - 4*4 + math.Pi*4*4/4},
		{"an outline, round at four corners", box(rect{20, 20, 40, 40}, 0), paint{line: black, width: 8}, 4*40*8 - 4*4*4 + math.Pi*4*4},
		{"a rounded outline", box(rect{20, 20, 60, 60}, 4), paint{line: black, width: 2}, 2 * (4*52 + 4*4*1.6233)},
		{"a ring", circle(point{50, 50}, 20), paint{line: black, width: 2}, 2 * math.Pi * 20 * 2},
		{"dashes", line(point{10, 20}, point{110, 20}), paint{line: black, width: 3, dashes: []float64{9, 5}}, (7*9 + 2) * 3},
		{"dashes round a corner", line(point{10, 20}, point{60, 20}, point{60, 70}), paint{line: black, width: 1, dashes: []float64{20, 10}}, 80 - 10},
		{"dashes around", box(rect{20, 20, 40, 40}, 0), paint{line: black, width: 1, dashes: []float64{20, 20}}, 80},
		{"dashes too small to see", line(point{10, 20}, point{110, 20}), paint{line: black, width: 3, dashes: []float64{0.1, 0.1}}, 300},
		{"an arrow", line(point{10, 50}, point{110, 50}), paint{line: black, width: 2, arrow: 10}, 90*2 + 10*10/2},
		{"nothing", line(point{10, 50}, point{110, 50}), paint{}, 0},
		{"a point", line(point{10, 50}, point{10, 50}), paint{line: black, width: 3, arrow: 9}, 0},
		{"off the picture", box(rect{1270, 90, 1e9, 1e9}, 0), paint{fill: black}, 100},
		{"no number", line(point{10, 50}, point{math.NaN(), 50}), paint{line: black, width: 3}, 0},
		{"no end", box(rect{0, 0, math.Inf(1), 10}, 0), paint{fill: black}, 0},
	}
	for _, tt := range tests {
		img := mustImage(t, newSketch(func(c *canvas) { c.shape(tt.path, tt.with) }))
		if got := darkness(img, img.Bounds()); math.Abs(got-tt.want) > 0.01*tt.want+0.6 {
			t.Errorf("%s: got %.1f pixels of ink, want %.1f", tt.name, got, tt.want)
		}
	}
}

// TestHatches checks that every hatch covers the whole shape and nothing else, and that the
// positions of its lines do not depend on the shape.
func TestHatches(t *testing.T) {
	hatched := func(h hatch, r rect) image.Image {
		return mustImage(t, newSketch(func(c *canvas) { c.shape(box(r, 0), paint{fill: 0x808080, hatch: h, over: black}) }))
	}
	for h := plain; h < numHatches; h++ {
		img, part := hatched(h, rect{20, 20, 70, 70}), hatched(h, rect{33, 41, 40, 30})
		dark := 0
		for y := range 100 {
			for x := range 110 {
				at := image.Pt(x, y)
				c := color.GrayModel.Convert(img.At(x, y)).(color.Gray).Y
				if inside := at.In(image.Rect(20, 20, 90, 90)); (c <= 0x80) != inside {
					t.Fatalf("hatch %d: pixel %v is %d; inside: %v", h, at, c, inside)
				}
				in := color.GrayModel.Convert(part.At(x, y)).(color.Gray).Y
				if at.In(image.Rect(33, 41, 73, 71)) && max(c, in)-min(c, in) > 8 {
					t.Fatalf("hatch %d: pixel %v is %d in a part of the shape, want %d", h, at, in, c)
				}
				if c < 0x40 {
					dark++
				}
			}
		}
		if h != plain && (dark < 400 || dark > 3000) {
			t.Errorf("hatch %d: %d of 4900 pixels are dark, want 400 to 3000", h, dark)
		}
	}
}

// TestText checks that all ink of a text in a PNG is in the rectangle that follows from the
// anchor of the text and its measured width.
func TestText(t *testing.T) {
	s := style{size: 40, colour: black}
	width := int(math.Ceil(s.width("HlH")))
	for anchor, from := range map[anchor]int{atStart: 100, atMiddle: 100 - width/2, atEnd: 100 - width} {
		s.anchor = anchor
		img := mustImage(t, newSketch(func(c *canvas) { c.text(s, point{100, 50}, "HlH") }))
		in := image.Rect(from-1, 50-16, from+width+1, 50+16)
		if got, all := darkness(img, in), darkness(img, img.Bounds()); got < 300 || got != all {
			t.Errorf("anchor %d: %.1f of %.1f pixels of ink are in %v", anchor, got, all, in)
		}
	}
	img := mustImage(t, newSketch(func(c *canvas) {
		c.text(style{size: 40, colour: black, turn: upwards}, point{50, 90}, "HlH")
	}))
	in := image.Rect(50-16, 90-width-1, 50+16, 91)
	if got, all := darkness(img, in), darkness(img, img.Bounds()); got < 300 || got != all {
		t.Errorf("upwards: %.1f of %.1f pixels of ink are in %v", got, all, in)
	}
}

// TestWidth checks the measured widths of texts.
func TestWidth(t *testing.T) {
	// Widths in font units, 2048 per em: H 1479, i 455, A 1366, V 1366. Kerning moves A and
	// V closer by 152. A character that the font lacks is one em wide.
	for text, want := range map[string]float64{"": 0, "Hi": 1479 + 455, "AV": 2*1366 - 152, "漢": 2048, "\n": 569 + 1139} {
		if got := (style{size: 2048}).width(text); got != want {
			t.Errorf("width of %q: got %v, want %v", text, got, want)
		}
	}
	if regular, bold := (style{size: 10}).width("text"), (style{size: 10, bold: true}).width("text"); regular >= bold {
		t.Errorf("bold text is %v wide and regular text %v, want it wider", bold, regular)
	}
}

// TestEncode checks that the extension of a file name selects the format. It also checks
// the errors for unknown extensions and for figures that cannot be encoded.
func TestEncode(t *testing.T) {
	f := newSketch(func(*canvas) {})
	for name, want := range map[string]string{"a.svg": "<svg", "b.SVG": "<svg", "c.d/e.png": "\x89PNG", "f.PNG": "\x89PNG"} {
		if got, err := Encode(name, f); err != nil || !strings.HasPrefix(string(got), want) {
			t.Errorf("%s: got %.4q, error %v, want %q", name, got, err, want)
		}
	}
	for _, name := range []string{"a.pdf", "svg", ""} {
		if _, err := Encode(name, f); err == nil || err.Error() != name+": pictures end in .svg or .png" {
			t.Errorf("%s: got %v", name, err)
		}
	}
	bad := sketch(func(c *canvas) error {
		c.startPage(10, 10, "Bad", "")
		return errors.New("no data")
	})
	large := sketch(func(c *canvas) error {
		c.startPage(1e5, 1e5, "Large", "")
		return nil
	})
	for want, f := range map[string]Figure{
		`figure "Bad": no data`: bad,
		`figure "Large": 100000 by 100000 pixels are too many for a PNG: write a file that ends in .svg`: large,
		`no figure to draw`: nil,
	} {
		if _, err := Encode("a.png", f); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func mustSVG(t testing.TB, f Figure) []byte {
	t.Helper()
	svg, err := SVG(f)
	if err != nil {
		t.Fatal(err)
	}
	return svg
}
