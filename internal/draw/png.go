package draw

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math"

	"golang.org/x/image/vector"

	"github.com/kernbench/kernbench/internal/printable"
)

const (
	pngWidth  = 1280    // minimum width in pixels
	maxPixels = 1 << 26 // maximum number of pixels of a picture
	flatness  = 0.1     // pixels that a straight line may deviate from a curve
	farAway   = 1 << 14 // largest coordinate in pixels; larger ones are moved there
)

// raster paints items on an image.
type raster struct {
	img   *image.RGBA
	scale float64 // pixels of the image per pixel of the canvas
	fills vector.Rasterizer
}

// png returns the picture as PNG.
func (c *canvas) png() ([]byte, error) {
	scale := max(1, pngWidth/c.w)
	w, h := math.Ceil(c.w*scale), math.Ceil(c.h*scale)
	if !(w*h <= maxPixels) {
		return nil, fmt.Errorf("figure %q: %s by %s pixels are too many for a PNG: write a file that ends in .svg", c.title, formatNumber(w), formatNumber(h))
	}
	r := &raster{img: image.NewRGBA(image.Rect(0, 0, int(w), int(h))), scale: scale}
	group{items: c.items}.png(r)
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&b, r.img); err != nil {
		return nil, fmt.Errorf("figure %q: %w", c.title, err)
	}
	return b.Bytes(), nil
}

// png paints the items of the group.
func (g group) png(r *raster) {
	for _, it := range g.items {
		it.png(r)
	}
}

// png paints the outlines of the characters.
func (t textLine) png(r *raster) {
	text := printable.Line(t.text)
	start := t.baseline()
	outline := t.outline(text).transform(func(at point) point { return t.rotate(at.add(start)) })
	r.fill(r.flatten(outline), image.NewUniform(t.colour))
}

// png paints the fill and the line of the shape.
func (s shape) png(r *raster) {
	polylines := r.flatten(s.path)
	if s.fill != 0 {
		r.fill(polylines, r.texture(s, polylines))
	}
	if s.line == 0 || s.width <= 0 {
		return
	}
	half := s.width * r.scale / 2
	var outline []polyline
	for _, part := range polylines {
		for _, dash := range part.dash(s.dashes, r.scale) {
			outline = append(outline, dash.stroke(half)...)
		}
	}
	r.fill(outline, image.NewUniform(s.line))
}

// texture returns the fill of a shape: a colour, or an image of the hatch that covers the
// shape.
func (r *raster) texture(s shape, polylines []polyline) image.Image {
	if s.hatch == plain {
		return image.NewUniform(s.fill)
	}
	around := r.bounds(polylines)
	tile := &raster{img: image.NewRGBA(around), scale: r.scale}
	c := &canvas{}
	in := rect{float64(around.Min.X) / r.scale, float64(around.Min.Y) / r.scale, float64(around.Dx()) / r.scale, float64(around.Dy()) / r.scale}
	c.box(in.inset(-1, -1, -1, -1), s.fill)
	s.hatch.paint(c, in, s.over)
	group{items: c.items}.png(tile)
	return tile.img
}

// flatten returns a path as straight lines, in pixels of the image.
func (r *raster) flatten(p path) []polyline {
	polylines := p.flatten(flatness / r.scale)
	for _, part := range polylines {
		for i, at := range part.points {
			at = at.scale(r.scale)
			part.points[i] = point{min(max(at.x, -farAway), farAway), min(max(at.y, -farAway), farAway)}
		}
	}
	return polylines
}

// bounds returns the smallest rectangle of pixels that contains the polylines, without the
// pixels outside the image.
func (r *raster) bounds(polylines []polyline) image.Rectangle {
	lo, hi := point{math.Inf(1), math.Inf(1)}, point{math.Inf(-1), math.Inf(-1)}
	for _, part := range polylines {
		for _, at := range part.points {
			lo, hi = point{min(lo.x, at.x), min(lo.y, at.y)}, point{max(hi.x, at.x), max(hi.y, at.y)}
		}
	}
	if lo.x > hi.x {
		return image.Rectangle{}
	}
	return image.Rect(int(math.Floor(lo.x)), int(math.Floor(lo.y)), int(math.Ceil(hi.x)), int(math.Ceil(hi.y))).Intersect(r.img.Bounds())
}

// fill fills the inside of closed polylines.
func (r *raster) fill(polylines []polyline, with image.Image) {
	in := r.bounds(polylines)
	if in.Empty() {
		return
	}
	r.fills.Reset(in.Dx(), in.Dy()) // no larger than needed, because it stores a number for each pixel
	for _, part := range polylines {
		for i, at := range part.points {
			x, y := float32(at.x-float64(in.Min.X)), float32(at.y-float64(in.Min.Y))
			if i == 0 {
				r.fills.MoveTo(x, y)
				continue
			}
			r.fills.LineTo(x, y)
		}
		r.fills.ClosePath()
	}
	r.fills.Draw(r.img, in, with, in.Min)
}
