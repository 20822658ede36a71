package memory

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/topology"
)

var eightChannels = HBM{Channels: 8, Burst: 256, BurstTime: 8 * simtime.Nanosecond}

func TestNewHBM(t *testing.T) {
	got := NewHBM(topology.HBM{Channels: 8, Burst: 256, ChannelBandwidth: 32 * topology.GBps, Turnaround: 5})
	if want := (HBM{8, 256, 8 * simtime.Nanosecond, 5}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestChannelHash checks that Channel equals the documented formula, for eight channels.
func TestChannelHash(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		addr := rapid.Int64Range(0, 1<<40).Draw(t, "addr")
		a := addr / 256
		if got, want := eightChannels.Channel(Addr(addr)), int((a^a>>3^a>>6)%8); got != want {
			t.Fatalf("Channel(%#x) = %d, want %d", addr, got, want)
		}
	})
}

// TestAlignedRunsUseEveryChannel checks that an aligned sequence of bursts, one for each
// channel, uses each channel exactly once. Sequential accesses therefore run at full rate.
func TestAlignedRunsUseEveryChannel(t *testing.T) {
	for _, channels := range []int{1, 2, 4, 8, 16, 64} {
		h := HBM{Channels: channels, Burst: 256}
		for group := range int64(1000) {
			used := make([]bool, channels)
			for i := range int64(channels) {
				used[h.Channel(Addr((group*int64(channels)+i)*256))] = true
			}
			for c, ok := range used {
				if !ok {
					t.Fatalf("%d channels, group %d: channel %d unused", channels, group, c)
				}
			}
		}
	}
}

// TestRowsOfATileSpread checks how the rows of a 32×3072 f16 tile, which are 6 KiB apart,
// use the eight channels. Their first bursts must use at least six channels, and no channel
// may serve more than a third of these bursts.
func TestRowsOfATileSpread(t *testing.T) {
	for base := Addr(0); base < 1<<20; base += 2048 {
		var count [8]int
		for row := range Addr(32) {
			count[eightChannels.Channel(base+row*3072*2)]++
		}
		used := 0
		for c, n := range count {
			if n > 0 {
				used++
			}
			if n > 10 {
				t.Fatalf("tile at %v: channel %d serves %d of 32 rows: %v", base, c, n, count)
			}
		}
		if used < 6 {
			t.Fatalf("tile at %v: only %d channels serve the rows: %v", base, used, count)
		}
	}
}

// TestBurstAt checks which bytes each burst of a region of three rows transfers.
func TestBurstAt(t *testing.T) {
	tile := Region{Addr: 100, Rows: 3, RowBytes: 400, Stride: 1000}
	for _, c := range []struct {
		off        Bytes
		start, end Bytes
	}{
		{0, 0, 156},     // 100..256
		{155, 0, 156},   // the last byte of the same burst
		{156, 156, 400}, // 256..500, where the row ends
		{400, 400, 580}, // 1100..1280
		{600, 580, 800}, // 1280..1500
	} {
		got := eightChannels.BurstAt(tile, c.off)
		if got.Start != c.start || got.End != c.end {
			t.Errorf("BurstAt(%d) = [%d, %d), want [%d, %d)", c.off, got.Start, got.End, c.start, c.end)
		}
	}
}

// TestSequentialRead checks when each flit of a sequential read is complete, and that the
// channels are busy until the read is complete.
func TestSequentialRead(t *testing.T) {
	const ns = simtime.Nanosecond
	s := NewSlice(eightChannels)
	read := PartialAccess{Region: Contiguous(0, 4096), To: 4096, Flit: 256, At: 100 * ns}
	var got flitTimes
	done := s.Serve(read, &got)
	for k, at := range got { // two groups of eight, one burst time each
		if want := 100*ns + simtime.Time(k/8+1)*8*ns; at != want {
			t.Errorf("flit %d is complete at %v, want %v", k, at, want)
		}
	}
	if len(got) != 16 || done != 116*ns {
		t.Errorf("%d flits, complete at %v, want 16 and 116ns", len(got), done)
	}
	// The channels are busy until then.
	if got := s.Serve(PartialAccess{Region: Contiguous(0, 1), To: 1, Flit: 256}, nil); got != 124*ns {
		t.Errorf("next burst through at %v, want 124ns", got)
	}
	kept := read
	kept.To = 2048
	if got := s.Cut(read, kept, 0); got != 116*ns { // the burst in between counts
		t.Errorf("after Cut, complete at %v, want 116ns", got)
	}
	if got := s.Serve(PartialAccess{Region: Contiguous(0, 1), To: 1, Flit: 256}, nil); got != 124*ns {
		t.Errorf("after Cut: %v, want 124ns", got)
	}
}

// flitTimes is a Reader that records when each flit is complete.
type flitTimes []simtime.Time

func (f *flitTimes) Flit(done simtime.Time) { *f = append(*f, done) }

func (f *flitTimes) Groups(n, flits int64, period simtime.Time) {
	for range n * flits {
		*f = append(*f, (*f)[len(*f)-int(flits)]+period)
	}
}

func TestTurnaround(t *testing.T) {
	h := eightChannels
	h.Turnaround = 3 * simtime.Nanosecond
	s := NewSlice(h)
	one := Contiguous(0, 256)
	for i, c := range []struct {
		op   Op
		want simtime.Time
	}{{Read, 8}, {Read, 16}, {Write, 27}, {Write, 35}, {Read, 46}} {
		if got := s.Serve(PartialAccess{Op: c.op, Region: one, To: 256, Flit: 256}, nil); got != c.want*simtime.Nanosecond {
			t.Errorf("access %d: through at %v, want %dns", i, got, c.want)
		}
	}
}

// TestServeInParts checks that an access that is served in several parts ends at the same
// time as the same access served as a whole. Parts of a write whose flits arrive exactly at the
// rate of the channels may end later, by less than a burst time: the channels serve a part from
// its arrival on, and rows that do not end with a burst take more bursts than flits.
func TestServeInParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Region{
			Addr:     Addr(rapid.Int64Range(0, 5000).Draw(t, "addr")),
			Rows:     rapid.Int64Range(1, 6).Draw(t, "rows"),
			RowBytes: Bytes(rapid.Int64Range(1, 30000).Draw(t, "row bytes")),
		}
		r.Stride = r.RowBytes + Bytes(rapid.Int64Range(0, 4000).Draw(t, "pad"))
		op := Op(rapid.Bool().Draw(t, "write"))
		gap := simtime.Time(rapid.Int64Range(0, 20).Draw(t, "gap")) * simtime.Nanosecond
		if op == Read {
			gap = 0
		}
		part := PartialAccess{Op: op, Region: r, To: r.Bytes(), Flit: 256, Gap: gap, Ends: make([]simtime.Time, 8)}
		if op == Read {
			part.Ends = nil
		}
		part.LastAt = simtime.Time((part.To-1)/part.Flit) * gap
		want := NewSlice(eightChannels).Serve(part, nil)
		part.Ends = slices.Repeat([]simtime.Time{0}, len(part.Ends))
		if op == Read {
			part.Ends = nil
		}
		parts := NewSlice(eightChannels)
		var got simtime.Time
		for part.From < r.Bytes() {
			n := Bytes(rapid.Int64Range(1, 8).Draw(t, "flits")) * part.Flit
			part.To = min(part.From+n, r.Bytes())
			part.At = simtime.Time(part.From/part.Flit) * gap
			part.LastAt = simtime.Time((part.To-1)/part.Flit) * gap
			got = max(got, parts.Serve(part, nil))
			part.From = part.To
		}
		late := got - want
		atRate := op == Write && gap == eightChannels.BurstTime/simtime.Time(eightChannels.Channels)
		if late != 0 && (!atRate || late < 0 || late >= eightChannels.BurstTime) {
			t.Fatalf("%+v in parts through at %v, whole at %v", r, got, want)
		}
	})
}

// TestOverlaps checks that Overlaps is true exactly if the sets of addresses of two regions
// have a common element.
func TestOverlaps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stride := Bytes(rapid.Int64Range(1, 12).Draw(t, "stride"))
		draw := func(name string) Region {
			return Region{
				Addr:     Addr(rapid.Int64Range(0, 40).Draw(t, name+" addr")),
				Rows:     rapid.Int64Range(1, 4).Draw(t, name+" rows"),
				RowBytes: Bytes(rapid.Int64Range(1, int64(stride)).Draw(t, name+" row bytes")),
				Stride:   stride,
			}
		}
		a, b := draw("a"), draw("b")
		bytes := map[Addr]bool{}
		for off := range a.Bytes() {
			at, _ := a.addr(off)
			bytes[at] = true
		}
		want := false
		for off := range b.Bytes() {
			at, _ := b.addr(off)
			want = want || bytes[at]
		}
		if a.Overlaps(b) != want || b.Overlaps(a) != want {
			t.Fatalf("%+v and %+v: overlap %v and %v, want %v", a, b, a.Overlaps(b), b.Overlaps(a), want)
		}
	})
}

// TestServeAtOnce checks that a slice whose bursts take no time serves a part at once as it
// serves it burst by burst.
func TestServeAtOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := HBM{Channels: 8, Burst: 256}
		fast, slow := NewSlice(h), NewSlice(h)
		var at simtime.Time
		for range rapid.IntRange(1, 5).Draw(t, "accesses") {
			n := Bytes(rapid.IntRange(1, 1<<15).Draw(t, "bytes"))
			at += simtime.Time(rapid.IntRange(-5, 20).Draw(t, "later"))
			at = max(at, 0)
			gap := simtime.Time(rapid.IntRange(0, 3).Draw(t, "gap"))
			part := PartialAccess{
				Op: Op(rapid.Bool().Draw(t, "write")), Region: Contiguous(Addr(rapid.IntRange(0, 1<<12).Draw(t, "addr")), n),
				From: 0, To: n, Flit: 256, At: at, LastAt: at,
			}
			var ends [2][]simtime.Time
			if part.Op == Write {
				part.Gap, part.LastAt = gap, at+gap*simtime.Time((n+255)/256-1)
				part.Slow = rapid.Bool().Draw(t, "slow")
				ends = [2][]simtime.Time{make([]simtime.Time, 8), make([]simtime.Time, 8)}
			}
			var times [2]flitTimes
			var readers [2]Reader
			if part.Op == Read {
				readers = [2]Reader{&times[0], &times[1]}
			}
			part.Ends = ends[0]
			got := fast.Serve(part, readers[0])
			part.Ends = ends[1]
			want := slow.serveBursts(part, readers[1])
			if got != want || !slices.Equal(times[0], times[1]) {
				t.Fatalf("%+v: complete at %v with flits %v, want %v with %v", part, got, times[0], want, times[1])
			}
			for i := range fast.channels {
				if fast.channels[i].free != slow.channels[i].free {
					t.Fatalf("%+v: channel %d is free at %v, want %v", part, i, fast.channels[i].free, slow.channels[i].free)
				}
			}
		}
	})
}

// BenchmarkServe measures accesses to one slice, and the allocations of an access.
func BenchmarkServe(b *testing.B) {
	const kib = 1 << 10
	tile := Region{Rows: 32, RowBytes: 160, Stride: 6 * kib}
	for _, c := range []struct {
		name     string
		op       Op
		region   Region
		from, to Bytes
		reader   bool
	}{
		{"tile read", Read, tile, 0, tile.Bytes(), true},
		{"tile write", Write, tile, 0, tile.Bytes(), false},
		{"turn of a read", Read, Contiguous(0, 80*kib), 4 * kib, 8 * kib, true},
		{"round of a read", Read, Contiguous(0, 224*kib), 7 * kib, 224 * kib, false},
		{"burst", Read, Contiguous(0, 4), 0, 4, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			part := PartialAccess{Op: c.op, Region: c.region, From: c.from, To: c.to, Flit: 256}
			if c.op == Write {
				part.Gap, part.Ends = simtime.Nanosecond, make([]simtime.Time, eightChannels.Channels)
			}
			var to Reader
			if c.reader {
				to = new(lastFlit)
			}
			s := NewSlice(eightChannels)
			for b.Loop() {
				s.Serve(part, to)
			}
		})
	}
}

// lastFlit is a Reader that keeps the time of the last flit.
type lastFlit simtime.Time

func (f *lastFlit) Flit(done simtime.Time) { *f = lastFlit(done) }

func (f *lastFlit) Groups(n, _ int64, period simtime.Time) { *f += lastFlit(n) * lastFlit(period) }
