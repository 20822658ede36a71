package cli

import (
	"bytes"
	"testing"
	"time"
)

// TestBarLines: where nobody looks, a line after every pause, with the time that the
// points which are not taken over have needed.
func TestBarLines(t *testing.T) {
	var out bytes.Buffer
	clock := time.Unix(0, 0)
	b := startBar(&out, "sweep", "points")
	b.now = func() time.Time { return clock }
	for _, step := range []struct {
		seconds     int
		done, total int
	}{
		{0, 50, 200}, {4, 52, 200}, {6, 55, 200}, {9, 59, 200}, {1, 60, 200}, {100, 200, 200},
	} {
		clock = clock.Add(time.Duration(step.seconds) * time.Second)
		b.tell(step.done, step.total)
	}
	if _, err := b.Write([]byte("hello\n")); err != nil {
		t.Fatal(err)
	}
	b.stop()
	want := "sweep: 55 of 200 points, about 4m50s left\nsweep: 60 of 200 points, about 4m40s left\nsweep: 200 of 200 points\nhello\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// TestBarScreen: on a terminal text goes through the bar and stays, whether it was drawn
// meanwhile or not.
func TestBarScreen(t *testing.T) {
	var out bytes.Buffer
	b := startBar(&out, "sweep", "points")
	b.begun = b.now()
	b.draw(4)
	b.tell(1, 4)
	if _, err := b.Write([]byte("hello\n")); err != nil {
		t.Fatal(err)
	}
	b.tell(4, 4)
	b.stop()
	b.stop() // does no harm
	if got, want := out.String(), "hello\n"; !bytes.Contains(out.Bytes(), []byte(want)) {
		t.Errorf("got %q, want it to contain %q", got, want)
	}
}
