package chart

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"image/png"
	"regexp"

	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/kernbench/kernbench/internal/printable"
)

// Figure is a [Lines], [Bars], [HeatMap] or [Network].
type Figure interface {
	heading() string
	check() error // what cannot be drawn
	draw(pen)
}

// SVG is a figure with its text as text, 960×540.
func SVG(f Figure) ([]byte, error) {
	if err := checked(f); err != nil {
		return nil, err
	}
	canvas := vgsvg.New(slideW, slideH)
	f.draw(pen{canvas})
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, fmt.Errorf("figure %q: %w", f.heading(), err)
	}
	return tidy(f.heading(), b.Bytes()), nil
}

// PNG is a figure in 1280×720 pixels.
func PNG(f Figure) ([]byte, error) {
	if err := checked(f); err != nil {
		return nil, err
	}
	canvas := vgimg.NewWith(vgimg.UseWH(slideW, slideH), vgimg.UseDPI(pngDPI), vgimg.UseBackgroundColor(paper))
	f.draw(pen{canvas})
	var b bytes.Buffer
	if err := png.Encode(&b, canvas.Image()); err != nil {
		return nil, fmt.Errorf("figure %q: %w", f.heading(), err)
	}
	return b.Bytes(), nil
}

func checked(f Figure) error {
	if err := f.check(); err != nil {
		return fmt.Errorf("figure %q: %w", f.heading(), err)
	}
	return nil
}

var (
	svgHead = regexp.MustCompile(`(?s)^.*?<svg[^>]*>`)
	svgFont = regexp.MustCompile(`font-family:[^;]*;font-variant:[^;]*;(?:font-weight:normal;)?((?:font-weight:bold;)?)font-style:normal;`)
)

// tidy is what gonum wrote with a head for pages and screen readers, and with the
// font said once, as a list of families of the same widths.
func tidy(title string, svg []byte) []byte {
	var head bytes.Buffer
	fmt.Fprintf(&head, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%d" role="img" font-family="%s">`+"\n<title>",
		int(slideW), int(slideH), fontFamilies)
	if err := xml.EscapeText(&head, []byte(printable.Line(title))); err != nil {
		panic(err) // a buffer takes everything
	}
	head.WriteString("</title>")
	start := svgHead.FindIndex(svg)
	return append(head.Bytes(), svgFont.ReplaceAll(svg[start[1]:], []byte("$1"))...)
}
