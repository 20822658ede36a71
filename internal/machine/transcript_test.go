package machine

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/kernbench/kernbench/internal/exec"
	"github.com/kernbench/kernbench/internal/memory"
	"github.com/kernbench/kernbench/internal/sim"
	"github.com/kernbench/kernbench/oplog"
	"github.com/kernbench/kernbench/simtime"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/topology"
)

// TestTranscripts runs the commands in each file of testdata and compares their output with
// the file. Run the test with -rewrite to replace the output in the files. The commands are
//
//	system PRESET           builds a machine; the lines below override keys of the preset
//	tensor x n=4 pes=(0,1)  allocates n elements of f32 on each PE, in its HBM or the
//	                        memory of memory=KIND
//	write x pe=0            copies the numbers below, padded with zeros, to the part of a PE
//	read x pe=0             copies the part of a PE to the host
//	launch k pes=(0,1)      sends a kernel; links=((0,east,1,west)) connects ports, and
//	                        homes=(0,0) names the PE that holds the signals of each rank
//	run                     runs the machine until everything has ended or failed
//	peek x                  prints the values of a tensor, without simulated time
//	races                   checks the op log for races
//
// The lines below `launch` are the kernel, a line of steps for each rank; the method step
// lists the steps. `run` prints the operations of the op log: when each operation was
// issued, started and ended, and the operation that it waited for.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		s := &transcript{}
		datadriven.RunTest(t, path, s.command)
		s.close()
	})
}

// transcript is the state while a file of testdata runs: the machine, its tensors and
// output to be printed.
type transcript struct {
	*Machine
	tensors map[string]*parts
	names   []string            // the names of the tensors, in order
	runs    []*Run              // launches since the last run
	shown   int                 // operations of the log that have been printed
	reads   map[oplog.ID]string // the tensor that each copy to the host reads
	printed []string            // output of kernels since the last run
}

// parts is a tensor: a part of n elements on each of several PEs.
type parts struct {
	window int16
	n      int
	pes    []PEID
	ptrs   []tl.Ptr
}

func (s *transcript) close() {
	if s.Machine != nil {
		s.Close()
	}
}

// command runs one command of the file and returns the output of the command.
func (s *transcript) command(t *testing.T, d *datadriven.TestData) string {
	commands := map[string]func(t *testing.T, d *datadriven.TestData) (string, error){
		"system": s.system, "tensor": s.tensor, "write": s.write, "read": s.read, "launch": s.launch, "run": s.run,
		"peek": s.peek, "races": s.races,
	}
	if commands[d.Cmd] == nil {
		d.Fatalf(t, "no command %q", d.Cmd)
	}
	out, err := commands[d.Cmd](t, d)
	if err != nil {
		out += err.Error() + "\n"
	}
	return regexp.MustCompile(`,? at transcript_test\.go:\d+`).ReplaceAllString(out, "")
}

func (s *transcript) system(t *testing.T, d *datadriven.TestData) (string, error) {
	s.close()
	*s = transcript{Machine: build(t, Options{Log: true, NoLines: true}, d.CmdArgs[0].Key, strings.FieldsFunc(d.Input, func(r rune) bool { return r == '\n' })...)}
	s.tensors, s.reads = map[string]*parts{}, map[oplog.ID]string{}
	s.Data = exec.New(s.Log, func(at oplog.Space) *memory.Store { return &s.Memory(at).Store }, 1)
	s.Print = func(text string) { s.printed = append(s.printed, text) }
	return fmt.Sprintf("%d PEs\n", s.NumPEs()), nil
}

// ids returns the PEs that a command lists in its argument with the name `key`.
func ids(d *datadriven.TestData, key string) (list []PEID) {
	for _, arg := range d.CmdArgs {
		for _, v := range arg.Vals {
			if n, err := strconv.Atoi(v); err == nil && arg.Key == key {
				list = append(list, PEID(n))
			}
		}
	}
	return list
}

func (s *transcript) tensor(t *testing.T, d *datadriven.TestData) (string, error) {
	x := &parts{window: int16(len(s.names) + 1), pes: ids(d, "pes")}
	kind := "hbm"
	d.ScanArgs(t, "n", &x.n)
	d.MaybeScanArgs(t, "memory", &kind)
	name, bytes := d.CmdArgs[0].Key, memory.Bytes(4*x.n)
	out := ""
	for _, id := range x.pes {
		at := s.PE(id).Memory(bufferKinds[topology.BufferKind(kind)])
		addr, err := s.Memory(at).Allocator.Alloc(bytes, 256)
		if err != nil {
			return out, err
		}
		va, err := s.Space.Map(name, []memory.Segment{{Memory: at, Addr: addr, Bytes: bytes}})
		if err != nil {
			return out, err
		}
		x.ptrs = append(x.ptrs, tl.Ptr{DType: tl.F32, Rank: 1, Stride: [oplog.MaxRank]int64{1}, Addr: int64(va), Window: x.window})
		out += fmt.Sprintf("PE %d: %v at %v of %v\n", id, bytes, addr, at)
	}
	s.tensors[name] = x
	s.names = append(s.names, name)
	return out, nil
}

// part returns the part of a tensor that command d names: its name in the output, its
// virtual address and its size.
func (s *transcript) part(t *testing.T, d *datadriven.TestData) (name string, va memory.VA, n memory.Bytes) {
	var pe int
	d.ScanArgs(t, "pe", &pe)
	x := s.tensors[d.CmdArgs[0].Key]
	i := slices.Index(x.pes, PEID(pe))
	return fmt.Sprintf("%s of PE %d", d.CmdArgs[0].Key, pe), memory.VA(x.ptrs[i].Addr), memory.Bytes(4 * x.n)
}

func (s *transcript) write(t *testing.T, d *datadriven.TestData) (string, error) {
	_, va, n := s.part(t, d)
	var data []byte
	for _, word := range strings.Fields(d.Input) {
		v, err := strconv.ParseFloat(word, 32)
		if err != nil {
			return "", err
		}
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
	}
	return "", s.CopyIn(va, n, append(data, make([]byte, int(n)-len(data))...), false, sim.Event{})
}

func (s *transcript) read(t *testing.T, d *datadriven.TestData) (string, error) {
	name, va, n := s.part(t, d)
	id, err := s.CopyOut(va, n, sim.Event{})
	s.reads[id] = name
	return "", err
}

// floats decodes data as little-endian f32 numbers.
func floats(data []byte) (list []float32) {
	for ; len(data) >= 4; data = data[4:] {
		list = append(list, math.Float32frombits(binary.LittleEndian.Uint32(data)))
	}
	return list
}

func (s *transcript) peek(_ *testing.T, d *datadriven.TestData) (out string, err error) {
	x := s.tensors[d.CmdArgs[0].Key]
	for i, id := range x.pes {
		data, err := s.Peek(memory.VA(x.ptrs[i].Addr), memory.Bytes(4*x.n))
		if err != nil {
			return out, err
		}
		out += fmt.Sprintf("PE %d: %v\n", id, floats(data))
	}
	return out, nil
}

func (s *transcript) races(*testing.T, *datadriven.TestData) (string, error) {
	found, err := exec.Races(s.Log)
	out := fmt.Sprintf("races: %d\n", len(found))
	for _, r := range found {
		out += r.String() + "\n"
	}
	return out, err
}

var portNames = map[string]tl.Port{
	"north": tl.North, "east": tl.East, "south": tl.South, "west": tl.West, "any": tl.AnyPort,
}

func (s *transcript) launch(t *testing.T, d *datadriven.TestData) (string, error) {
	p := Program{Name: d.CmdArgs[0].Key, Targets: ids(d, "pes"), Homes: ids(d, "homes")}
	for _, name := range s.names { // each tensor is a window; ranks without a part have none
		var window []memory.Part
		for _, id := range p.Targets {
			if i := slices.Index(s.tensors[name].pes, id); i >= 0 {
				window = append(window, memory.Part{VA: memory.VA(s.tensors[name].ptrs[i].Addr), Bytes: memory.Bytes(4 * s.tensors[name].n)})
			} else {
				window = append(window, memory.Part{})
			}
		}
		p.Windows = append(p.Windows, window)
	}
	for _, arg := range d.CmdArgs {
		if arg.Key == "links" {
			w := arg.Vals
			for ; len(w) >= 4; w = w[4:] {
				a, _ := strconv.Atoi(w[0])
				b, _ := strconv.Atoi(w[2])
				p.Links = append(p.Links, Connection{PEID(a), portNames[w[1]], PEID(b), portNames[w[3]]})
			}
		}
	}
	lines := strings.Split(d.Input, "\n")
	p.Body = func(k *tl.PE) {
		tiles, handles := map[string]tl.Tile{}, map[string]tl.Handle{}
		for _, text := range strings.Split(lines[k.Rank()%len(lines)], ";") {
			s.step(k, strings.Fields(text), p.Targets[k.Rank()], tiles, handles)
		}
	}
	run, err := s.Start(p, sim.Event{})
	s.runs = append(s.runs, run)
	return "", err
}

// step runs one step of a kernel. w has the words of the step. x, y and z are tensors, a, b
// and c are tiles, h is a composite, and sizes are in elements. The step `into` is
// RecvInto, `async` is RecvAsync, `gemm` starts a composite for which `await` waits, and
// `idle n` makes n calls that use no engine. The steps are
//
//	a = load x 4; a = get 1 x 4; a = full 4 2.5; a = recv west 4; c = add a b; c = mul a 2
//	store x a; put 1 x a; send east a; into west x 4
//	notify 1 0 add 5; wait 0 >= 5; idle 10; print a
//	h = gemm x y z 4; await h; async west 4
func (s *transcript) step(k *tl.PE, w []string, pe PEID, tiles map[string]tl.Tile, handles map[string]tl.Handle) {
	if len(w) == 0 {
		return
	}
	name := ""
	if len(w) > 2 && w[1] == "=" {
		name, w = w[0], w[2:]
	}
	number := func(i int) int {
		n, err := strconv.Atoi(w[i])
		if err != nil {
			panic(err)
		}
		return n
	}
	ptr := func(i int) tl.Ptr {
		x := s.tensors[w[i]]
		return x.ptrs[max(slices.Index(x.pes, pe), 0)]
	}
	operand := func(i int) any {
		if x, ok := tiles[w[i]]; ok {
			return x
		}
		v, err := strconv.ParseFloat(w[i], 64)
		if err != nil {
			panic(err)
		}
		return v
	}
	vec := func(i int) tl.Shape { return tl.Shape{number(i)} }
	switch w[0] {
	case "load":
		tiles[name] = k.Load(ptr(1), vec(2), tl.F32)
	case "get":
		tiles[name] = k.Get(number(1), ptr(2), vec(3), tl.F32)
	case "full":
		tiles[name] = k.Full(vec(1), tl.F32, operand(2).(float64))
	case "add":
		tiles[name] = tiles[w[1]].Add(operand(2))
	case "mul":
		tiles[name] = tiles[w[1]].Mul(operand(2))
	case "store":
		k.Store(ptr(1), tiles[w[2]])
	case "put":
		k.Put(number(1), ptr(2), tiles[w[3]])
	case "send":
		k.Send(portNames[w[1]], tiles[w[2]])
	case "recv":
		if w[1] == "any" {
			tiles[name], _ = k.RecvAny(vec(2), tl.F32)
		} else {
			tiles[name] = k.Recv(portNames[w[1]], vec(2), tl.F32)
		}
	case "async":
		k.RecvAsync(portNames[w[1]], vec(2), tl.F32)
	case "into":
		k.RecvInto(portNames[w[1]], ptr(2), vec(3), tl.F32)
	case "notify":
		k.Notify(number(1), number(2), map[string]tl.SignalOp{"set": tl.Set, "add": tl.Add}[w[3]], number(4))
	case "wait":
		k.WaitSignal(number(1), map[string]tl.Cmp{"=": tl.EQ, ">=": tl.GE}[w[2]], number(3))
	case "gemm": // a product of square matrices
		n := number(4)
		square := func(i int) tl.Ptr {
			p := ptr(i)
			p.Rank, p.Stride = 2, [oplog.MaxRank]int64{int64(n), 1}
			return p
		}
		sq := tl.Shape{n, n}
		handles[name] = k.Composite(tl.Gemm(k.Ref(square(1), sq, tl.F32), k.Ref(square(2), sq, tl.F32), square(3)))
	case "await":
		k.Wait(handles[w[1]])
	case "idle":
		spendCalls(k, number(1))
	case "print":
		k.Printf("%v", tiles[w[1]].Values())
	default:
		panic("no step " + w[0])
	}
}

// run runs the machine and returns the operations that are new in the op log, as text. The
// text also has the values that were read or printed, and the times of the launches.
func (s *transcript) run(*testing.T, *datadriven.TestData) (string, error) {
	err := s.Engine.Run(context.Background())
	var out strings.Builder
	var ended []oplog.ID
	for ; s.shown < len(s.Log.Ops); s.shown++ {
		ended = append(ended, oplog.ID(s.shown+1))
	}
	started := func(id oplog.ID) simtime.Time { return max(s.Log.Op(id).Issue, s.Log.Op(id).Start) }
	slices.SortStableFunc(ended, func(a, b oplog.ID) int { return cmp.Compare(started(a), started(b)) })
	if len(ended) > 0 {
		fmt.Fprintf(&out, "%13s %13s %13s\n", "issued", "started", "ended")
	}
	for _, id := range ended {
		op := s.Log.Op(id)
		who := "host"
		if op.PE >= 0 {
			who = fmt.Sprintf("%s PE %d", s.Log.Launches[op.Launch].Name, op.PE)
		}
		start, end := op.Start.String(), op.End.String()
		if op.Start < op.Issue {
			start = "-"
		}
		if op.End < op.Issue {
			end = "-"
		}
		fmt.Fprintf(&out, "%13v %13s %13s  %-10s %s\n", op.Issue, start, end, who, s.describe(op))
		if name := s.reads[id]; name != "" && err == nil {
			value, e := s.value(id)
			if e != nil {
				return out.String(), e
			}
			fmt.Fprintf(&out, "%13s %13s %13s  %-10s %s is %v\n", "", "", "", "", name, floats(value))
		}
	}
	for _, text := range s.printed {
		fmt.Fprintln(&out, "printed "+text)
	}
	for _, r := range s.runs {
		if r != nil && err == nil {
			fmt.Fprintf(&out, "%s started at %v", r.Name, r.Launch.Start)
			for i, id := range r.Targets {
				fmt.Fprintf(&out, ", PE %d ran for %v", id, r.Exec(i))
			}
			fmt.Fprintln(&out)
		}
	}
	s.runs, s.printed = nil, nil
	return out.String(), err
}

// value computes the value of operation id of the op log.
func (s *transcript) value(id oplog.ID) ([]byte, error) {
	if err := s.Data.Flush(); err != nil {
		return nil, err
	}
	return s.Data.Value(id)
}

// describe formats an operation of the op log for the transcript, with the operation that
// it waited for.
func (s *transcript) describe(op *oplog.Op) string {
	text := op.Kind.String()
	if op.Kind == oplog.Math {
		text = op.Math.String()
	}
	if op.Shape.Rank > 0 {
		text += " " + op.Shape.String()
	}
	if op.Kind == oplog.Notify || op.Kind == oplog.WaitSignal {
		text += fmt.Sprintf(" signal %d", op.Signal)
	}
	if op.Port >= 0 {
		text += " " + tl.Port(op.Port).String()
	}
	if op.Peer >= 0 {
		text += fmt.Sprintf(" of PE %d", op.Peer)
	}
	for _, m := range op.Mem {
		text += fmt.Sprintf(" %v[%#x]", m.Space, m.Addr)
	}
	if op.Cause != 0 {
		cause := s.Log.Op(op.Cause)
		text += fmt.Sprintf(", after %v of PE %d", cause.Kind, cause.PE)
	}
	return text
}
