package cli

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/kernbench/kernbench/internal/printable"
	"github.com/kernbench/kernbench/oplog"
)

// hostile lists names with characters that control a terminal, that reverse the direction
// of text, or that XML must not contain.
var hostile = []string{"a\x1b[31mb", "a\ab", "a\u202eb", "a\nb", "a\xffb", "a\x00b", "a\u2028\tb", "öl", "\xffx"}

// TestHostileNames passes the names in hostile to commands, as bench names, settings,
// columns, cells, keys, values, arguments and file names. It checks that text output is
// printable, and that pictures are well-formed.
func TestHostileNames(t *testing.T) {
	for _, name := range hostile {
		t.Run(printable.Line(name), func(t *testing.T) {
			t.Chdir(t.TempDir())
			quoted := fmt.Sprintf("%q", name) // YAML has the same escapes
			asJSON, err := json.Marshal(name)
			if err != nil {
				t.Fatal(err)
			}
			cell := `"` + name + `"` // as in CSV, and in flags that take several columns
			write := func(file, format string, args ...any) {
				t.Helper()
				if err := os.WriteFile(file, fmt.Appendf(nil, format, args...), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			write("bench.yaml", "bench: %s\n", quoted)
			write("grid.yaml", "bench: hello_send\ndata: off\ngrid: [{key: %s, values: [%s, 2]}]\n", quoted, quoted)
			write("params.yaml", "bench: hello_send\nparams: {%s: %s}\n", quoted, quoted)
			write("topo.yaml", "extends: default\nsystem: {sips: {%s: 1, topology: %s}}\n%s: 3\n", quoted, quoted, quoted)
			write("raw.yaml", "extends: default\n%s: 3\n", name)
			write("extends.yaml", "extends: %s\n", quoted)
			write("how.yaml", "extends: default\nalgorithms: {%s: {n_elem: 64}}\n", quoted)
			write("scenario.yaml", "nranks: 2\nkernel: %s\n%s: 1\nbuffers: {%s: {shape: [1]}}\n", quoted, quoted, quoted)
			write("a.csv", "n,kind,%s\n1,%s,10\n2,%s,20\n1,other,30\n", cell, cell, cell)
			write("b.csv", "n,kind,%s\n1,%s,11\n3,%s,20\n", cell, cell, cell)
			write("rows.json", `{"rows": [{"n": 1, %s: 2, "kind": %[1]s}, {"n": 2, %[1]s: 3, "kind": "x"}]}`, asJSON)
			write("words.csv", "n,t\n%s,x\n", cell)
			log := &bytes.Buffer{}
			if err := oplog.Encode(log, oplog.Header{Tool: name, Config: name, Notes: map[string]string{"bench": name}}, &oplog.Log{}); err != nil {
				t.Fatal(err)
			}
			write("log.oplog", "%s", log)

			check := func(args ...string) { t.Helper(); checkPrintable(t, args) }
			check("sweep", "bench.yaml")
			check("sweep", "grid.yaml")
			check("sweep", "params.yaml")
			check("topology", "show", "-t", "topo.yaml")
			check("topology", "validate", "topo.yaml", "raw.yaml", "extends.yaml", name)
			check("ccl", "show", "--ccl", "how.yaml")
			check("ccl", "show", "--set", name)
			check("tasks", "show", "--set", name+"=1")
			check("topology", "show", "--set", "system.sips.count="+name)
			check("topology", "show", "--set", "overrides=[{link: "+quoted+"}]")
			check("comm", "run", "scenario.yaml")
			check("comm", "run", "all_reduce", "--set", "mode="+name)
			check("comm", "show", name)
			check("plot", "a.csv", "-x", "n", "-y", cell, "-o", "ambiguous.svg")
			check("plot", "a.csv", "-x", "n", "-y", cell, "--by", "kind", "-o", "lines.svg")
			check("plot", "a.csv", "-x", "kind", "-y", cell, "--by", "n", "--kind", "bars", "-o", "bars.svg", "--title", name)
			check("plot", "a.csv", "-x", "n", "-y", cell, "--by", "kind", "--kind", "heat", "-o", "heat.svg", "--where", "kind="+name)
			check("plot", "rows.json", "-x", "n", "-y", strings.ToValidUTF8(cell, "\ufffd"), "--by", "kind", "-o", "rows.svg")
			check("plot", "words.csv", "-x", "n", "-y", "t", "-o", "words.svg")
			check("plot", "a.csv", "-x", name+"?", "-y", "n", "-o", "none.svg")
			check("compare", "a.csv", "b.csv", "--key", "n,kind", "--value", cell, "--all")
			check("compare", "a.csv", "words.csv")
			check("replay", "log.oplog")
			for _, args := range [][]string{{name}, {"run", name}, {"list", name}, {"coll", name}, {"topology", name}, {"run", "--" + name}, {"plot", name + ".csv", "-x", "n", "-y", "n", "-o", "x.svg"},
				{"topology", "show", "--format", name}, {"replay", name}, {"trace", name}, {"sweep", name}, {"merge", name, name}, {"compare", name, name + "2"},
				{"run", "hello_send", "--trace", filepath.Join(name, "x")}, {"comm", "prepare", "all_reduce", filepath.Join("a.csv", name)}} {
				check(args...)
			}
			checkPictures(t, "lines.svg", "bars.svg", "heat.svg", "rows.svg")
			if strings.ContainsRune(name, 0) {
				return // file names cannot contain NUL
			}
			write(name+".yaml", "extends: default\nsystem: {sips: {count: 2}}\n")
			write("grid_"+name+".yaml", "bench: hello_send\ndata: off\ngrid: [{key: system.sips.count, values: [1, 2]}]\n")
			check("topology", "show", "-t", name+".yaml")
			check("topology", "validate", name+".yaml")
			check("run", "hello_send", "--data=off", "-t", name+".yaml", "--trace", name+".json", "--log", name+".oplog")
			check("trace", name+".json")
			check("replay", name+".oplog")
			check("probe", "-t", name+".yaml", "--sizes", "4KiB")
			check("sweep", "grid_"+name+".yaml")
			check("sweep", "grid_"+name+".yaml")
			check("comm", "run", "all_reduce", "--nranks", "2", "--backend", "sim", "-t", name+".yaml", "--runtime", "host_build_graph", "--gantt", "--gantt-svg", "gantt.svg")
			check("topology", "diagram", "-t", name+".yaml", "-o", "system.svg")
			checkPictures(t, "gantt.svg", "system.svg")
			if _, err := os.Stat(printable.Line("grid_"+name) + ".jsonl"); err != nil {
				t.Errorf("the results of a sweep are not where a printable name says: %v", err)
			}
		})
	}
}

// checkPrintable runs a command and checks that everything it prints is printable.
func checkPrintable(t *testing.T, args []string) {
	t.Helper()
	var out, errs bytes.Buffer
	Run(t.Context(), args, &out, &errs)
	for stream, text := range map[string]string{"standard output": out.String(), "standard error": errs.String()} {
		if bad := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && !printable.Is(r) }); bad >= 0 || !utf8.ValidString(text) {
			t.Errorf("%q: %s is not printable: %q", args, stream, text)
		}
	}
}

// checkPictures checks that SVG files are well-formed and that their text is printable.
func checkPictures(t *testing.T, files ...string) {
	t.Helper()
	for _, file := range files {
		svg, err := os.ReadFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		for dec := xml.NewDecoder(bytes.NewReader(svg)); ; {
			token, err := dec.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Errorf("%s is no XML: %v", file, err)
				break
			}
			if text, ok := token.(xml.CharData); ok && printable.Text(string(text)) != string(text) {
				t.Errorf("%s has the text %q, which is not printable", file, text)
			}
		}
	}
}

// TestOutputsAreDeclared checks that each command without the flag --format is in the list
// of commands that always print the same kind of output. For other commands, --format says
// whether the output is text or data.
func TestOutputsAreDeclared(t *testing.T) {
	known := map[string]bool{
		"kernbench comm prepare": true, "kernbench comm execute": true, // text
		"kernbench topology schema": true, "kernbench ccl schema": true, "kernbench tasks schema": true, // data
	}
	var check func(*cobra.Command)
	check = func(c *cobra.Command) {
		if len(c.Commands()) == 0 && c.Flags().Lookup("format") == nil && !known[c.CommandPath()] {
			t.Errorf("%s has no --format: call escapeOutput and add the command to known", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			check(sub)
		}
	}
	root, _ := rootCmd()
	check(root)
}
