package config

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestExtends checks Load for files that extend other files: cycles, long chains, missing
// files and other mistakes.
func TestExtends(t *testing.T) {
	t.Chdir(t.TempDir())
	files := map[string]string{
		"loop_a.yaml":  "extends: loop_b.yaml\n",
		"loop_b.yaml":  "extends: ./loop_a.yaml\n",
		"default":      "extends: default\n", // a file with the name of the preset that it extends
		"alias.yaml":   "name: &n default\nextends: *n\n",
		"big.yaml":     strings.Repeat("# nothing\n", 200_000),
		"on_big.yaml":  "extends: big.yaml\n",
		"number.yaml":  "extends: 4\n",
		"nowhere.yaml": "extends: lib/base.yaml\n",
		"bare":         good,
		"on_dir.yaml":  "extends: lib\n",
		"on_file.yaml": "extends: bare\n",
		"on_path.yaml": "extends: ./lib\n",
	}
	for i := range 20 {
		files[fmt.Sprintf("chain%d.yaml", i)] = fmt.Sprintf("extends: chain%d.yaml\n", i+1)
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir("lib", 0o755); err != nil {
		t.Fatal(err)
	}
	link(t, "nothing.yaml", "astray.yaml")
	link(t, "round.yaml", "round.yaml")
	p := Presets{"default": []byte(good)}
	for _, c := range []struct{ name, want string }{
		{"./loop_a.yaml", "loop_b.yaml:1:10: extends: a cycle: loop_a.yaml extends loop_b.yaml extends loop_a.yaml"},
		{"default", ""},
		{"alias.yaml", "alias.yaml:1:7: name: anchors and aliases are not supported"},
		{"on_big.yaml", "on_big.yaml:1:10: extends: big.yaml:1:1: the file has more than 1048576 bytes"},
		{"number.yaml", "number.yaml:1:10: extends: expected a preset or a file to extend, got 4; presets: default"},
		{"nowhere.yaml", "nowhere.yaml:1:10: extends: no file lib/base.yaml"},
		{"chain0.yaml", "chain15.yaml:1:10: extends: more than 16 files extend one another"},
		{".", ". is a folder, not a file"},
		{"deft", `no file deft and no preset "deft"; presets: default`},
		{"lib", "lib is a folder, not a file"},
		{"lib/none/x.yaml", `no file lib/none/x.yaml and no preset "lib/none/x.yaml"; presets: default`},
		{"astray.yaml", "astray.yaml is a link to nothing.yaml, which does not exist"},
		{"round.yaml", "open round.yaml: too many levels of symbolic links"},
		{"on_dir.yaml", `on_dir.yaml:1:10: extends: no preset "lib"; presets: default; lib is a directory`},
		{"on_file.yaml", `on_file.yaml:1:10: extends: no preset "bare"; presets: default; for the file write ./bare`},
		{"on_path.yaml", "on_path.yaml:1:10: extends: lib is a folder, not a file"},
	} {
		_, err := p.Load(t.Context(), c.name, "main.yaml")
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	want := "memory:1:10: extends: a text in memory can extend presets only: default"
	if _, err := p.Parse("memory", []byte("extends: ./chain0.yaml")); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("in memory: got %v, want %s", err, want)
	}
}

// link creates a symbolic link, or skips the test if that is not possible.
func link(t *testing.T, target, name string) {
	t.Helper()
	if err := os.Symlink(target, name); err != nil {
		t.Skipf("no symbolic links here: %v", err)
	}
}

// TestDefaultFile checks that Load reads the preset default only if the default file does
// not exist. A default file that cannot be read, or whose name ends in .yml, is an error.
func TestDefaultFile(t *testing.T) {
	p := Presets{"default": []byte(good)}
	write := func(name string) func(*testing.T) {
		return func(t *testing.T) {
			if err := os.WriteFile(name, []byte(good), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	mkdir := func(name string) func(*testing.T) {
		return func(t *testing.T) {
			if err := os.Mkdir(name, 0o755); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name       string
		prepare    func(*testing.T)
		want, fail string
	}{
		{"none", func(*testing.T) {}, "preset default", ""},
		{"exists", write("main.yaml"), "main.yaml", ""},
		{"a file with the name of the preset", write("default"), "preset default", ""},
		{"a directory with the name of the preset", mkdir("default"), "preset default", ""},
		{"directory", mkdir("main.yaml"), "", "main.yaml is a folder, not a file"},
		{"broken link", func(t *testing.T) { link(t, "x", "main.yaml") }, "", "main.yaml is a link to x, which does not exist"},
		{"other ending", write("main.yml"), "", "found main.yml: name it main.yaml or pass --main main.yml"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			c.prepare(t)
			d, err := p.Load(t.Context(), "", "main.yaml")
			switch {
			case c.fail != "" && (err == nil || err.Error() != c.fail):
				t.Errorf("got %v, want %s", err, c.fail)
			case c.fail == "" && err != nil:
				t.Error(err)
			case c.fail == "" && d.Name() != c.want:
				t.Errorf("got %s, want %s", d.Name(), c.want)
			}
		})
	}
}

// TestName checks that the name of a document lists its --set arguments on one line.
func TestName(t *testing.T) {
	p := Presets{"default": []byte(good)}
	d, err := p.Parse("child.yaml", []byte("extends: default\n"), "cores=4", "links=[a,\nb]")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := d.Name(), `child.yaml, --set cores=4, --set "links=[a,\nb]"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestFiles checks the list of files that a configuration was read from. Presets are not
// files.
func TestFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"top.yaml": "extends: ./base.yaml\n", "base.yaml": "extends: default\n"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := Presets{"default": []byte(good)}
	for name, want := range map[string]string{"./top.yaml": "[./top.yaml base.yaml]", "base.yaml": "[base.yaml]", "default": "[]", "": "[]"} {
		d, err := p.Load(t.Context(), name, "main.yaml", "a=1")
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(d.Files()); got != want {
			t.Errorf("files of %q: got %s, want %s", name, got, want)
		}
	}
	d, err := p.Parse("text", []byte("extends: default\n"))
	if err != nil || d.Files() != nil {
		t.Errorf("files of a text in memory: got %v, %v, want none", d.Files(), err)
	}
}
