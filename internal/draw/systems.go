package draw

import (
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/topology"
)

// Systems is the SIPs of several systems and the links between them, side by side. Each has the
// arrangement of its [ViewSystem].
type Systems struct {
	Title, Subtitle, Note string
	Panels                []SystemPanel
}

// SystemPanel is a system and its title.
type SystemPanel struct {
	Title string
	Graph *topology.Graph
}

func (s Systems) draw(c *canvas) error {
	c.page(slideW, slideH, s.Title, s.Subtitle)
	if len(s.Panels) == 0 {
		return errors.New("no panels: give at least one")
	}
	area := c.frame(s.Title, s.Subtitle, s.Note, nil)
	w := (area.w - gap*float64(len(s.Panels)-1)) / float64(len(s.Panels))
	for i, panel := range s.Panels {
		p, err := newPlan(panel.Graph, Place{})
		if err != nil {
			return fmt.Errorf("panel %q: %w", panel.Title, err)
		}
		d := &Diagram{w: c.w, h: c.h}
		r := rect{area.x + float64(i)*(w+gap), area.y, w, area.h}
		in := r.inset(gap, 32, gap, gap)
		around := d.addFrame(frame{rect: r, name: panel.Title, text: frameStyle.cut(panel.Title, w-2*frameX), in: -1})
		p.network(d, &in, around)
		if !r.holds(in) {
			return fmt.Errorf("panel %q: there is no room for %d SIPs: draw fewer", panel.Title, panel.Graph.Spec().System.SIPs.Count)
		}
		d.placeTexts(sizeMore)
		d.paint(c, point{})
	}
	return nil
}
