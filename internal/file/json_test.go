package file

import (
	"strings"
	"testing"
)

// TestBlanks checks that a decoder accepts maxBlanks blanks in a row and refuses more.
func TestBlanks(t *testing.T) {
	var list []int
	text := "[1," + strings.Repeat(" ", maxBlanks) + "2," + strings.Repeat("\n", maxBlanks) + "3]"
	if err := NewDecoder(strings.NewReader(text)).Decode(&list); err != nil || len(list) != 3 {
		t.Errorf("got %v, %v", list, err)
	}
	endless := &zeros{fill: ' '}
	want := "this is no JSON: it has more than 65536 blanks in a row"
	if err := NewDecoder(endless).Decode(&list); err == nil || err.Error() != want || endless.read > 1<<18 {
		t.Errorf("got %v after %d bytes, want %s", err, endless.read, want)
	}
}
