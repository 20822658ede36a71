package describe

import (
	"io"
	"strings"

	"github.com/kernbench/kernbench/table"
	"github.com/kernbench/kernbench/topology"
)

// Presets is the systems that come with the program. Its JSON is what `kernbench topology presets
// --format json` prints.
type Presets []Preset

// Preset is one of the systems.
type Preset struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// ListPresets returns all presets.
func ListPresets() (list Presets, err error) {
	for _, name := range topology.Presets() {
		src, err := topology.PresetSource(name)
		if err != nil {
			return nil, err
		}
		list = append(list, Preset{name, firstSentence(string(src))})
	}
	return list, nil
}

// WriteText writes the presets as a table.
func (l Presets) WriteText(w io.Writer) error {
	return table.WriteList(w, []string{"preset", "description"}, l, func(p Preset) []string { return []string{p.Name, p.Description} })
}

// firstSentence returns the first sentence of the comment that a file begins with.
func firstSentence(src string) string {
	var words []string
	for line := range strings.Lines(src) {
		comment, ok := strings.CutPrefix(line, "#")
		if !ok {
			break
		}
		words = append(words, strings.Fields(comment)...)
	}
	sentence, _, _ := strings.Cut(strings.Join(words, " ")+" ", ". ")
	return strings.TrimSpace(sentence)
}
