package table

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWriteTable(t *testing.T) {
	var b bytes.Buffer
	err := WriteTable(&b, []string{"path", "ns", "note"}, [][]string{{"h2d", "1500.25", "größer"}, {"d2h", "8", ""}})
	if err != nil {
		t.Fatal(err)
	}
	want := `path       ns  note
h2d   1500.25  größer
d2h         8
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
}
