package archtest

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// TestModule checks that this module obeys the rules for imports, for printing, for access
// to files and for files named formula.go.
func TestModule(t *testing.T) {
	found, err := check(os.DirFS("../.."))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range found {
		t.Error(v)
	}
}

// TestCheck checks the violations that check finds in small modules. Most of the modules
// break one rule.
func TestCheck(t *testing.T) {
	const simImport = `import "github.com/kernbench/kernbench/internal/sim"` + "\n"
	tests := []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{
			name: "layers in order",
			files: map[string]string{
				"topology/graph.go":         "package topology\n" + simImport,
				"internal/fabric/fabric.go": "package fabric\nimport \"github.com/kernbench/kernbench/internal/memory\"\n",
				"internal/memory/memory.go": "package memory\nimport \"github.com/kernbench/kernbench/topology\"\n",
				"cmd/kernbench/main.go":     "package main\nimport \"github.com/kernbench/kernbench\"\n",
				"bench/builtin/gemm.go":     "package builtin\nimport \"github.com/kernbench/kernbench/bench\"\n",
				"internal/plot/figure.go":   "package plot\nimport \"github.com/kernbench/kernbench/internal/draw\"\n",
				"bench/example_test.go":     "package bench_test\nimport \"github.com/kernbench/kernbench/bench\"\n",
			},
		},
		{
			name:  "import of a lower layer",
			files: map[string]string{"tl/pe.go": "package tl\nimport (\n\t\"fmt\"\n\t\"github.com/kernbench/kernbench/internal/machine\"\n)\n"},
			want:  []string{"tl/pe.go:4: tl (layer kernels) imports internal/machine (layer machines), which lies below it"},
		},
		{
			name:  "import of the root",
			files: map[string]string{"torch/torch.go": "package torch\nimport \"github.com/kernbench/kernbench\"\n"},
			want:  []string{"torch/torch.go:2: torch (layer host API) imports . (layer command: entry), which lies below it"},
		},
		{
			name:  "import of a lower layer by an external test",
			files: map[string]string{"ccl/ring_test.go": "package ccl_test\nimport \"github.com/kernbench/kernbench/torch\"\n"},
			want:  []string{"ccl/ring_test.go:2: ccl (layer collectives) imports torch (layer host API), which lies below it"},
		},
		{
			name:  "import of a lower row of evaluation",
			files: map[string]string{"internal/draw/figure.go": "package draw\nimport \"github.com/kernbench/kernbench/internal/plot\"\n"},
			want:  []string{"internal/draw/figure.go:2: internal/draw (layer evaluation: views) imports internal/plot (layer evaluation: figures), which lies below it"},
		},
		{
			name: "imports within a row",
			files: map[string]string{
				"internal/draw/figure.go": "package draw\nimport \"github.com/kernbench/kernbench/internal/page\"\n",
				"torch/torch.go":          "package torch\nimport \"github.com/kernbench/kernbench/tp\"\n",
			},
			want: []string{"internal/draw/figure.go:2: internal/draw imports internal/page of its own layer, evaluation: views, whose packages are apart"},
		},
		{
			name: "package in no layer, package whose name only begins like a listed one, and folders that the go command skips",
			files: map[string]string{
				"internal/util/util.go":      "package util\n",
				"internal/simulator/s.go":    "package simulator\n",
				"internal/sim/testdata/x.go": "package x\n",
				"internal/sim/.hidden/x.go":  "package x\n",
				"internal/sim/_old/x.go":     "package x\n",
			},
			want: []string{
				"internal/simulator/s.go:1: package internal/simulator is in no layer; add it to layers in internal/archtest/layers_test.go",
				"internal/util/util.go:1: package internal/util is in no layer; add it to layers in internal/archtest/layers_test.go",
			},
		},
		{
			name: "YAML and C",
			files: map[string]string{
				"internal/config/yaml.go": "package config\nimport \"go.yaml.in/yaml/v4\"\n",
				"topology/load_test.go":   "package topology\nimport \"go.yaml.in/yaml/v4\"\n",
				"topology/load.go":        "package topology\nimport \"go.yaml.in/yaml/v4\"\n",
				"topology/page.go":        "package topology\nimport \"html/template\"\n",
				"comm/shm/shm.go":         "package shm\nimport \"C\"\n",
			},
			want: []string{
				`comm/shm/shm.go:2: comm/shm imports "C"; the build is pure Go`,
				"topology/load.go:2: topology imports go.yaml.in/yaml/v4; read YAML through internal/config",
				"topology/page.go:2: topology imports html/template; a template keeps all exported methods in the program, 2 MB: write the text",
			},
		},
		{
			name: "printing",
			files: map[string]string{
				"internal/cli/run.go":      "package cli\nimport \"fmt\"\nfunc f() { fmt.Println() }\n",
				"examples/hello/main.go":   "package main\nimport \"fmt\"\nfunc main() { fmt.Println() }\n",
				"internal/sim/sim_test.go": "package sim\nimport \"fmt\"\nfunc f() { fmt.Println() }\n",
				"internal/sim/sim.go":      "package sim\nimport \"fmt\"\nvar s = fmt.Sprint()\nfunc f() { fmt.Fprintln(nil) }\n",
				"internal/pe/pe.go":        "package pe\nimport out \"fmt\"\nfunc f() { out.Printf(\"\") }\n",
			},
			want: []string{"internal/pe/pe.go:3: fmt.Printf in library code; return the text, or write to an io.Writer the caller gives"},
		},
		{
			name: "files",
			files: map[string]string{
				"internal/file/read.go":     "package file\nimport \"os\"\nvar _, _ = os.Open(\"\")\n",
				"internal/host/memory.go":   "package host\nimport \"os\"\nvar _, _ = os.ReadFile(\"/proc/meminfo\")\n",
				"internal/npy/read_test.go": "package npy\nimport \"os\"\nvar _, _ = os.ReadFile(\"\")\n",
				"internal/npy/read.go":      "package npy\nimport \"os\"\nvar _, _ = os.Stat(\"\")\nvar _, _ = os.ReadFile(\"\")\n",
			},
			want: []string{"internal/npy/read.go:4: os.ReadFile outside of internal/file; read with its Reader, write with its Writer"},
		},
		{
			name: "closed form that only computes",
			files: map[string]string{
				"internal/pe/formula.go":      "package pe\nimport \"github.com/kernbench/kernbench/simtime\"\nfunc GemmTime() simtime.Time { return simtime.MulDiv(1, 2, 3) + simtime.Second }\n",
				"internal/pe/gemm.go":         "package pe\n" + simImport + "func run(e *sim.Engine) { e.Run(); GemmTime := 1; use(GemmTime) }\nfunc use(int) {}\n",
				"internal/pe/formula_test.go": "package pe\nvar _ = GemmTime()\n",
			},
		},
		{
			name: "closed form that simulates",
			files: map[string]string{
				"internal/pe/formula.go": "package pe\n" + simImport + "func GemmTime(e *sim.Engine) simtime.Time { return e.Now() }\n",
			},
			want: []string{"internal/pe/formula.go:2: closed form imports internal/sim: it may use simtime, and no engine"},
		},
		{
			name: "model that uses closed forms",
			files: map[string]string{
				"internal/pe/formula.go": "package pe\ntype Cost struct{}\nfunc GemmTime() int { return 1 }\nfunc (Cost) Fill() int { return GemmTime() }\n",
				"internal/pe/gemm.go":    "package pe\nimport \"time\"\nvar at = time.Now()\nfunc run(c Cost) int {\n\tf := GemmTime\n\treturn f() + c.Fill()\n}\n",
			},
			want: []string{
				"internal/pe/gemm.go:5: model uses GemmTime of formula.go; models never use closed forms, or the tests that compare the two prove nothing",
				"internal/pe/gemm.go:6: model uses Fill of formula.go; models never use closed forms, or the tests that compare the two prove nothing",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fsys := fstest.MapFS{}
			for name, src := range tt.files {
				fsys[name] = &fstest.MapFile{Data: []byte(src)}
			}
			found, err := check(fsys)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, found); diff != "" {
				t.Errorf("violations (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCheckUnparsable checks that a file with a syntax error leads to an error with a
// position.
func TestCheckUnparsable(t *testing.T) {
	_, err := check(fstest.MapFS{"tl/pe.go": &fstest.MapFile{Data: []byte("package tl\nfunc {")}})
	if err == nil || !strings.HasPrefix(err.Error(), "tl/pe.go:2:6: ") {
		t.Errorf("check of a broken file: error %v, want one at tl/pe.go:2:6", err)
	}
}

// TestLayersAreDisjoint checks that no package is in two layers, because the other checks
// would use only the first layer.
func TestLayersAreDisjoint(t *testing.T) {
	seen := map[string]string{}
	for _, l := range layers {
		for _, p := range l.packages {
			if other, ok := seen[p]; ok {
				t.Errorf("package %s is in layer %s and in layer %s, want one", p, other, l.name)
			}
			seen[p] = l.name
		}
	}
}

// TestDocumented checks that docs/work/architecture.md lists the layers of the variable
// `layers`, in the same order and with the same packages. Packages whose name ends in
// "test" are not listed there, except for comm/commtest and internal/rapidtest.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/work/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	var got, want [][]string
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.Contains(cells[2], "`") {
			continue
		}
		name, row := strings.TrimSpace(cells[1]), []string{}
		for i, word := range strings.Split(cells[2], "`") {
			if i%2 == 1 {
				row = append(row, word)
			}
		}
		slices.Sort(row)
		if name == "" { // the row continues the layer above
			last := &got[len(got)-1]
			*last = append(*last, row...)
			slices.Sort((*last)[1:])
			continue
		}
		got = append(got, append([]string{name}, row...))
		if name == "programs" {
			break
		}
	}
	for _, l := range layers {
		row := slices.DeleteFunc(slices.Clone(l.packages), func(p string) bool {
			return strings.HasSuffix(p, "test") && p != "comm/commtest" && p != "internal/rapidtest"
		})
		slices.Sort(row)
		want = append(want, append([]string{l.name}, row...))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("layers of docs/work/architecture.md (-want +got):\n%s", diff)
	}
}

// TestLinked checks that the kernbench command links no plotting library. internal/draw
// needs none, and plotting libraries also link LaTeX parsers.
func TestLinked(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "../../cmd/kernbench").Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := strings.Fields(string(out))
	if !slices.Contains(linked, module+"/internal/draw") {
		t.Errorf("the command links %d packages and not internal/draw", len(linked))
	}
	for _, pkg := range linked {
		if strings.Contains(pkg, "latex") || strings.Contains(pkg, "gonum") {
			t.Errorf("the command links %s", pkg)
		}
	}
}
