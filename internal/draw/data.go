package draw

import "math"

// Data is a diagram as data, as `kernbench topology diagram --format json` prints it.
type Data struct {
	Title    string  `json:"title"`
	Subtitle string  `json:"subtitle"`
	Width    int     `json:"width"` // area of the blocks
	Height   int     `json:"height"`
	Blocks   []Block `json:"blocks"`
	Wires    []Wire  `json:"wires"`
}

// Block is a component, or several drawn as one, and its place.
type Block struct {
	Name string   `json:"name"` // of the component; of several, separated by spaces
	Text []string `json:"text"`
	X    int      `json:"x"`
	Y    int      `json:"y"`
	W    int      `json:"w"`
	H    int      `json:"h"`
}

// Wire is all links between two blocks.
type Wire struct {
	From   string `json:"from"`
	To     string `json:"to"`
	OneWay bool   `json:"one_way"` // by nature, or because the other direction is absent
	State  string `json:"state"`   // usual; changed, one_way or absent by overrides
	Label  string `json:"label,omitempty"`
}

// Data returns the blocks and wires of the diagram.
func (d *Diagram) Data() Data {
	data := Data{Title: d.title, Subtitle: d.subtitle(math.Inf(1)), Width: pixels(d.w), Height: pixels(d.h), Blocks: []Block{}, Wires: []Wire{}}
	for _, b := range d.blocks {
		data.Blocks = append(data.Blocks, Block{b.name, b.lines, pixels(b.x), pixels(b.y), pixels(b.w), pixels(b.h)})
	}
	for _, w := range d.wires {
		if w.from < 0 {
			continue // stands for wires of their own
		}
		wire := Wire{From: d.blocks[w.from].name, To: d.blocks[w.to].name, OneWay: w.oneWay, State: states[w.state].data}
		if w.label != nil {
			wire.Label = w.label.text
		}
		data.Wires = append(data.Wires, wire)
	}
	return data
}

func pixels(v float64) int { return int(math.Round(v)) }
