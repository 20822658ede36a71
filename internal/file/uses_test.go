package file

import (
	"fmt"
	"os"
	"testing"
)

// yamlFile is a configuration that was read from base.yaml.
type yamlFile string

func (yamlFile) Files() []string { return []string{"base.yaml"} }
func (y yamlFile) YAML() []byte  { return []byte(y) }

// TestUses checks that Check refuses a command that overwrites one of its inputs, also
// through links and in folders, or that writes a file twice. A command may write the
// configuration to a folder from which it has read the same configuration.
func TestUses(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, err := range []error{
		os.WriteFile("base.yaml", []byte("a: 1\n"), 0o600), os.Symlink("base.yaml", "link.svg"), os.Symlink("new.json", "dangling"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		uses *Uses
		want string
	}{
		{new(Uses).Reads("trace", "base.yaml").Writes("--out", "other"), "<nil>"},
		{new(Uses).Reads("trace", "base.yaml").Writes("--out", ""), "<nil>"},
		{new(Uses).ReadsConfig("topology", yamlFile("a: 1\n")).Writes("-o", "link.svg"), "-o link.svg would overwrite base.yaml, which is read (topology): choose another name"},
		{new(Uses).Reads("shard", "base.yaml").Updates("OUT", "base.yaml"), "<nil>"},
		{new(Uses).Writes("--log", "new.json").Writes("--trace", "dangling"), "--log new.json and --trace dangling are one file: give each a file of its own"},
		{new(Uses).ReadsConfig("topology", yamlFile("a: 1\n")).WritesIn("--out", ".", "*.yaml"), "<nil>"},
		{new(Uses).ReadsConfig("topology", yamlFile("a: 2\n")).WritesIn("--out", ".", "*.yaml"), "--out . would overwrite base.yaml, which is read (topology): choose another name"},
		{new(Uses).ReadsConfig("topology", yamlFile("a: 2\n")).WritesIn("--out", ".", "*.csv"), "<nil>"},
	} {
		if err := tt.uses.Check(); fmt.Sprint(err) != tt.want {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}
