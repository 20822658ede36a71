package config

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"
)

func TestExtends(t *testing.T) {
	t.Chdir(t.TempDir())
	files := map[string]string{
		"loop_a.yaml":  "extends: loop_b.yaml\n",
		"loop_b.yaml":  "extends: ./loop_a.yaml\n",
		"default":      "extends: default\n", // a file called like the preset it extends
		"alias.yaml":   "name: &n default\nextends: *n\n",
		"big.yaml":     strings.Repeat("# nothing\n", 200_000),
		"on_big.yaml":  "extends: big.yaml\n",
		"number.yaml":  "extends: 4\n",
		"nowhere.yaml": "extends: lib/base.yaml\n",
	}
	for i := range 20 {
		files[fmt.Sprintf("chain%d.yaml", i)] = fmt.Sprintf("extends: chain%d.yaml\n", i+1)
	}
	for name, text := range files {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := Presets{FS: fstest.MapFS{"default.yaml": {Data: []byte(good)}}}
	for _, c := range []struct{ name, want string }{
		{"./loop_a.yaml", "loop_b.yaml:1:10: extends: a cycle: loop_a.yaml extends loop_b.yaml extends loop_a.yaml"},
		{"default", ""},
		{"alias.yaml", "alias.yaml:1:7: name: anchors and aliases are not supported"},
		{"on_big.yaml", "big.yaml:1:1: the file has more than 1048576 bytes"},
		{"number.yaml", "number.yaml:1:10: extends: expected a preset or a file to extend, got 4; presets: default"},
		{"nowhere.yaml", "nowhere.yaml:1:10: extends: no file lib/base.yaml"},
		{"chain0.yaml", "chain15.yaml:1:10: extends: more than 16 files extend one another"},
		{".", `no file . and no preset "."; presets: default`},
	} {
		_, err := p.Load(c.name, "usual.yaml")
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	want := "memory:1:10: extends: a text in memory can extend presets only: default"
	if _, err := p.Parse("memory", []byte("extends: ./chain0.yaml")); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("in memory: got %v, want %s", err, want)
	}
}
