package topology

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/config/configtest"
)

func TestPresets(t *testing.T) {
	want := []string{"alpha_beta", "blackhole", "default", "mesh2x3", "ring6", "torus2x3"}
	if diff := cmp.Diff(want, Presets()); diff != "" {
		t.Fatalf("presets (-want +got):\n%s", diff)
	}
	for _, c := range []struct {
		name              string
		sips              SIPs
		cubes, pesPerCube int
	}{
		{"default", SIPs{Count: 2, Topology: Ring1D}, 16, 8},
		{"ring6", SIPs{Count: 6, Topology: Ring1D}, 16, 8},
		{"torus2x3", SIPs{Count: 6, Topology: Torus2D, W: 2, H: 3}, 16, 8},
		{"mesh2x3", SIPs{Count: 6, Topology: Mesh2DNoWrap, W: 2, H: 3}, 16, 8},
		{"alpha_beta", SIPs{Count: 4, Topology: Ring1D}, 1, 1},
		{"blackhole", SIPs{Count: 8, Topology: Ring1D}, 1, 1},
	} {
		s, err := Preset(c.name)
		if err != nil {
			t.Fatal(err)
		}
		got := s.System.SIPs
		got.Link, got.Switch = SIPLink{}, Overhead{}
		if got != c.sips || s.CubesPerSIP() != c.cubes || s.PEsPerCube() != c.pesPerCube {
			t.Errorf("%s: got %+v with %d cubes of %d PEs, want %+v with %d of %d",
				c.name, got, s.CubesPerSIP(), s.PEsPerCube(), c.sips, c.cubes, c.pesPerCube)
		}
	}
}

// TestAlphaBetaQueuesAreDeep checks that a queue of alpha_beta holds the data of two round
// trips. The formulas for alpha_beta hold only if a sender never waits for credits.
func TestAlphaBetaQueuesAreDeep(t *testing.T) {
	s, err := Preset("alpha_beta")
	if err != nil {
		t.Fatal(err)
	}
	link, q := s.System.SIPs.Link, s.PE.IPCQ
	ring := link.Bandwidth.Serialize(Bytes(q.NSlots) * q.SlotSize)
	if want := 2 * 2 * link.Latency; ring < want {
		t.Errorf("a ring lasts %v, want at least two round trips, %v", ring, want)
	}
}

func TestLoadByName(t *testing.T) {
	t.Chdir(t.TempDir())
	load := func(name string) (source string, sips int) {
		t.Helper()
		s, err := Load(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		return s.Source(), s.System.SIPs.Count
	}
	check := func(name, wantSource string, wantSIPs int) {
		t.Helper()
		if source, sips := load(name); source != wantSource || sips != wantSIPs {
			t.Errorf("Load(%q) is %s with %d SIPs, want %s with %d", name, source, sips, wantSource, wantSIPs)
		}
	}
	check("", "preset default", 2)
	check("ring6", "preset ring6", 6)
	write(t, "topology.yaml", "extends: machines/big.yaml\nsystem: {sips: {count: 16}}\n")
	write(t, "machines/big.yaml", "extends: base.yaml\nsystem: {sips: {topology: torus_2d}}\n")
	write(t, "machines/base.yaml", "extends: default\n")
	write(t, "ring6", "extends: default\nsystem: {sips: {count: 5}}\n")
	check("", "topology.yaml", 16)
	check("ring6", "ring6", 5)
	check("machines/base.yaml", "machines/base.yaml", 2)

	for _, c := range []struct{ name, want string }{
		{"rnig6", `no file rnig6 and no preset "rnig6"; presets: alpha_beta, blackhole, default, mesh2x3, ring6, torus2x3; did you mean ring6?`},
		{"machines/none.yaml", `no file machines/none.yaml and no preset "machines/none.yaml"; presets: alpha_beta, blackhole, default, mesh2x3, ring6, torus2x3`},
	} {
		if _, err := Load(t.Context(), c.name); err == nil || err.Error() != c.want {
			t.Errorf("Load(%q): got %v, want %s", c.name, err, c.want)
		}
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestSet checks the spec and its source after several --set arguments.
func TestSet(t *testing.T) {
	s, err := Load(t.Context(), "default", "cube.hbm.channels=16", "pe.dma.setup=2ns", "sip.ucie.bandwidth=unlimited",
		"overrides=[{link: sip0.io.switch->sip1.io.switch, absent: true}]",
		"system.sips.count=4", "system.sips.topology=torus_2d")
	if err != nil {
		t.Fatal(err)
	}
	want, err := Preset("default")
	if err != nil {
		t.Fatal(err)
	}
	if want := "preset default, --set cube.hbm.channels=16, --set pe.dma.setup=2ns, --set sip.ucie.bandwidth=unlimited, " +
		"--set overrides=[{link: sip0.io.switch->sip1.io.switch, absent: true}], " +
		"--set system.sips.count=4, --set system.sips.topology=torus_2d"; s.Source() != want {
		t.Errorf("the source is %s, want %s", s.Source(), want)
	}
	want.Cube.HBM.Channels = 16
	want.PE.DMA.Setup = 2_000_000
	want.SIP.UCIe.Bandwidth = Unlimited
	want.Overrides = []Override{{Link: "sip0.io.switch->sip1.io.switch", Absent: true}}
	want.System.SIPs.Count, want.System.SIPs.Topology = 4, Torus2D
	want.System.SIPs.W, want.System.SIPs.H = 2, 2
	if diff := cmp.Diff(string(want.YAML()), string(s.YAML())); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSetErrors(t *testing.T) {
	sets := []string{
		"cube.hbm.channels=sixteen",
		"cube.hmb.channels=16",
		"system.sips.topology=torus_2d",
		"pe.tcm.size=",
		"overrides=[{link: a->b, bandwdth: 1 GB/s}]",
	}
	_, err := Load(t.Context(), "default", sets...)
	if err == nil {
		t.Fatal("no error")
	}
	configtest.Golden(t, "testdata/set.want", err.Error()+"\n")
	_, err = Load(t.Context(), "default", "cube", "=4", "pe.dma.setup=[1", "pe.dma.setup=\"1")
	if err == nil {
		t.Fatal("no error")
	}
	configtest.Golden(t, "testdata/set_syntax.want", err.Error()+"\n")
}

// TestHash checks that descriptions of the same system have the same hash, and that another
// system has another hash.
func TestHash(t *testing.T) {
	ring6, err := Preset("ring6")
	if err != nil {
		t.Fatal(err)
	}
	bySet, err := Load(t.Context(), "default", "system.sips.count=6")
	if err != nil {
		t.Fatal(err)
	}
	byText, err := Parse("text", ring6.YAML())
	if err != nil {
		t.Fatal(err)
	}
	base, err := Preset("default")
	if err != nil {
		t.Fatal(err)
	}
	if h := ring6.Hash(); bySet.Hash() != h || byText.Hash() != h || base.Hash() == h || len(h) != 12 {
		t.Errorf("hashes: preset ring6 %s, by --set %s, by text %s must be equal, default %s must differ", h, bySet.Hash(), byText.Hash(), base.Hash())
	}
}

func TestValidate(t *testing.T) {
	s, err := Preset("default")
	if err != nil {
		t.Fatal(err)
	}
	s.System.SIPs.Count, s.System.SIPs.Topology = 9, Torus2D
	if err := s.Validate(); err != nil || s.System.SIPs.W != 3 || s.System.SIPs.H != 3 {
		t.Errorf("9 SIPs as a torus: %v, and %d×%d, want 3×3", err, s.System.SIPs.W, s.System.SIPs.H)
	}
	s.PE.TCM.Size = -1
	s.Cube.PELayout.Corners = 3
	var errs config.Errors
	if err := s.Validate(); !errors.As(err, &errs) || len(errs) != 2 {
		t.Errorf("got %v, want two errors", err)
	}
}

// TestErrorAt checks the position in an error about a value of a spec, for a spec that was
// created in Go and for one that was read.
func TestErrorAt(t *testing.T) {
	made := &Spec{}
	if got, want := made.origin.Errorf("overrides[2].link", "no link %s", "x").Error(), "overrides[2].link: no link x"; got != want {
		t.Errorf("a spec made in Go: got %q, want %q", got, want)
	}
	read, err := Parse("t.yaml", []byte("extends: default\nhost:\n  launch_bytes: 8 B\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := "t.yaml:3:17: host.launch_bytes: too few: 8\n    3 |   launch_bytes: 8 B\n      |                 ^"
	if got := read.origin.Errorf("host.launch_bytes", "too few: %d", 8).Error(); got != want {
		t.Errorf("a spec that was read: got\n%s\nwant\n%s", got, want)
	}
}

// TestRoundTrip checks that every valid spec can be written and reads back unchanged.
func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawValidSpec(t)
		got, err := Parse("drawn", s.YAML())
		if err != nil {
			t.Fatalf("%v\n%s", err, s.YAML())
		}
		got.origin = nil
		if diff := cmp.Diff(s.YAML(), got.YAML()); diff != "" || !reflect.DeepEqual(s, got) {
			t.Fatalf("(-written +read):\n%s", diff)
		}
	})
}

// drawValidSpec draws a random valid spec.
func drawValidSpec(t *rapid.T) *Spec {
	s := &Spec{}
	drawValue(t, reflect.ValueOf(s).Elem(), "")
	pow2 := rapid.IntRange(4, 16)
	s.System.Flit, s.Cube.HBM.Burst = 1<<pow2.Draw(t, "flit"), 1<<pow2.Draw(t, "burst")
	g := &s.System.SIPs
	g.Count, g.W, g.H = rapid.IntRange(1, 64).Draw(t, "count"), 0, 0
	if g.Topology.Grid() {
		g.W, g.H = rapid.IntRange(1, 8).Draw(t, "w"), rapid.IntRange(1, 8).Draw(t, "h")
		g.Count = g.W * g.H
	}
	s.SIP.CubeMesh.W, s.SIP.CubeMesh.H = 2, 3
	s.Cube.PELayout.PEPerCorner = rapid.IntRange(1, 4).Draw(t, "pe_per_corner")
	s.Cube.NoC.W, s.Cube.NoC.H = rapid.IntRange(2, 8).Draw(t, "noc.w"), rapid.IntRange(2, 8).Draw(t, "noc.h")
	s.Cube.SRAM.At, s.Cube.CPU.At = Site{1, 0}, Site{0, 1}
	s.PE.IPCQ.MaxPorts, s.PE.IPCQ.NSlots, s.PE.IPCQ.SlotSize = 8, 4, rapid.Custom(func(t *rapid.T) Bytes {
		return Bytes(rapid.IntRange(1, 4096).Draw(t, "bytes"))
	}).Draw(t, "slot_size")
	for _, memory := range []*Bytes{&s.PE.TCM.Size, &s.Cube.SRAM.Size, &s.Cube.HBM.SliceSize} {
		*memory = max(*memory, 4*MiB)
	}
	for i := range s.Overrides {
		o := &s.Overrides[i]
		o.Link = fmt.Sprintf("sip0.cube%d.r0c0<->sip0.cube%d.r0c1", i, i) // different links, each with a detour
		o.Absent = o.Bandwidth == nil && o.Latency == nil
	}
	return s
}

// drawValue sets v to a random value that its type and tag allow.
func drawValue(t *rapid.T, v reflect.Value, tag reflect.StructTag) {
	quantities := map[reflect.Type]*quantity{
		reflect.TypeFor[Bytes](): size, reflect.TypeFor[BytesPerSec](): bandwidth, reflect.TypeFor[Time](): duration,
		reflect.TypeFor[Hz](): frequency, reflect.TypeFor[Micrometres](): distance, reflect.TypeFor[TimePerMM](): wireDelay,
	}
	if q := quantities[v.Type()]; q != nil {
		v.SetInt(rapid.Int64Range(q.min, q.max).Draw(t, q.name))
		return
	}
	switch v.Interface().(type) {
	case Shape:
		v.SetString(string(rapid.SampledFrom(Shapes).Draw(t, "shape")))
		return
	case Backpressure:
		v.SetString(string(rapid.SampledFrom(Backpressures).Draw(t, "backpressure")))
		return
	case BufferKind:
		v.SetString(string(rapid.SampledFrom(BufferKinds).Draw(t, "buffer")))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "given") {
			v.Set(reflect.New(v.Type().Elem()))
			drawValue(t, v.Elem(), tag)
		}
	case reflect.Struct:
		for _, k := range config.Keys(v.Type()) {
			drawValue(t, v.FieldByIndex(k.Index), k.Tag)
		}
	case reflect.Slice:
		if n := rapid.IntRange(0, 3).Draw(t, "length"); n > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				drawValue(t, v.Index(i), "")
			}
		}
	case reflect.Int:
		l := config.LimitOf(tag)
		if l.OneOf != nil {
			v.SetInt(rapid.SampledFrom(l.OneOf).Draw(t, "oneof"))
		} else {
			v.SetInt(rapid.Int64Range(max(l.Min, 0), min(l.Max, 1<<20)).Draw(t, "number"))
		}
	case reflect.String:
		v.SetString(rapid.String().Draw(t, "text"))
	}
}
