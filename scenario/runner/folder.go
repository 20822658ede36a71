package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/kernbench/kernbench/internal/config"
	"github.com/kernbench/kernbench/internal/file"
	"github.com/kernbench/kernbench/internal/npy"
	"github.com/kernbench/kernbench/scenario"
	"github.com/kernbench/kernbench/tl"
	"github.com/kernbench/kernbench/torch"
)

// The files of a prepared folder, in addition to the .npy files.
const (
	scenarioFile = "scenario.yaml"
	choiceFile   = "run.json"
)

// maxChoiceBytes is the limit on the size of choiceFile.
const maxChoiceBytes = 1 << 20

// FolderFiles lists the names of all files of a prepared folder as patterns of
// [filepath.Match].
var FolderFiles = []string{scenarioFile, choiceFile, "round*/rank*/*.npy"}

// preparedRun is the content of choiceFile, which Prepare writes.
type preparedRun struct {
	Scenario string `json:"scenario" yaml:"scenario" want:"the name of the scenario"`
	scenario.Choice
}

// parsePrepared parses `text`, the content of a choiceFile. `file` is the name of the file
// in errors. An error has the positions of the mistakes. parsePrepared does not check the
// choice against the scenario; Scenario.Plan does.
func parsePrepared(file string, text []byte) (p preparedRun, err error) {
	if syntax, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(text, new(any))); ok {
		before := text[:max(0, min(syntax.Offset-1, int64(len(text))))]
		line := 1 + bytes.Count(before, []byte{'\n'})
		column := 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
		return p, fmt.Errorf("%s:%d:%d: not JSON: %w: mend it, or prepare the folder again", file, line, column, syntax)
	}
	doc, err := config.ParseStandalone(file, text)
	if err != nil {
		return p, err
	}
	p.Mistake = func(key, text string) error { return doc.Errorf(key, "%s", text) }
	return p, doc.Decode(&p, nil)
}

// folder stores the values of a run in files.
type folder struct {
	ctx context.Context // the context of the run; reading and writing stop when it ends
	dir string
}

// roundDir returns the directory with the files of a round.
func (f folder) roundDir(round int) string {
	return filepath.Join(f.dir, fmt.Sprintf("round%d", round))
}

// path returns the path of the file with the values of a buffer at a rank in a round.
// `kind` is "in", "out" or "golden".
func (f folder) path(b *scenario.Buffer, rank, round int, kind string) string {
	return filepath.Join(f.roundDir(round), fmt.Sprintf("rank%d", rank), b.Name+"."+kind+".npy")
}

// input reads the initial values of a buffer at a rank before a round.
func (f folder) input(b *scenario.Buffer, rank, round int) ([]byte, error) {
	return f.read(b, rank, round, "in")
}

// output writes `got`, the values of an output at a rank after a round, to a file.
func (f folder) output(o *scenario.Output, rank, round int, got []byte) error {
	return f.write(o.Buffer, rank, round, "out", got)
}

// read reads the values of a buffer at a rank in a round from a file, and checks that the
// shape and dtype in the file are those of the buffer.
func (f folder) read(b *scenario.Buffer, rank, round int, kind string) ([]byte, error) {
	name := f.path(b, rank, round, kind)
	in, err := file.Open(f.ctx, name, maxHeaderBytes+b.Bytes())
	if err != nil {
		return nil, err
	}
	defer in.Close()
	a, err := npy.Read(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if fmt.Sprint(a.Shape) != fmt.Sprint(b.Shape) || a.DType != b.DType {
		return nil, fmt.Errorf("%s has %v %v, and %s is %v %v: prepare the folder again", name, a.Shape, a.DType, b.Name, b.Shape, b.DType)
	}
	return a.Bytes, nil
}

// maxHeaderBytes bounds the header of a .npy file, which usually has about 100 bytes.
const maxHeaderBytes = 1 << 20

// write writes the values of a buffer at a rank in a round to a file. If it fails, it
// leaves no file.
func (f folder) write(b *scenario.Buffer, rank, round int, kind string, values []byte) error {
	name := f.path(b, rank, round, kind)
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	out, err := file.Create(name)
	if err != nil {
		return err
	}
	if err := npy.Write(&interruptible{f.ctx, out}, &npy.Array{Shape: b.Shape, DType: b.DType, Bytes: values}); err != nil {
		return errors.Join(err, out.Discard())
	}
	return out.Commit()
}

// interruptible is a writer that stops when ctx ends.
type interruptible struct {
	ctx context.Context
	w   io.Writer
}

// Write writes the bytes in `from` in parts. Before each part it checks whether the context
// has ended.
func (i *interruptible) Write(from []byte) (n int, err error) {
	const partBytes = 1 << 20
	for err == nil && n < len(from) {
		if i.ctx.Err() != nil {
			return n, context.Cause(i.ctx)
		}
		var wrote int
		wrote, err = i.w.Write(from[n:min(len(from), n+partBytes)])
		n += wrote
	}
	return n, err
}

// forEach calls `do` for every buffer or output in the list, in every round and at every
// rank that has the buffer or output. It stops at the first error and returns it. If ctx
// ends, the error is the cause of ctx.
func forEach[T interface{ On(rank int) bool }](ctx context.Context, plan *scenario.Plan, list []T, do func(x T, rank, round int) error) error {
	for round := range plan.Rounds {
		for rank := range plan.Ranks {
			for _, x := range list {
				if !x.On(rank) {
					continue
				}
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				if err := do(x, rank, round); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// checkInputs returns an error if an input file of the folder cannot be read. Without this
// check, the ranks would fail, and the error would not be an InputError.
func (f folder) checkInputs(plan *scenario.Plan) error {
	return forEach(f.ctx, plan, plan.Inputs(), func(b *scenario.Buffer, rank, round int) error {
		_, err := f.input(b, rank, round)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("an input is missing: put it back, or prepare the folder again: %w", err)
		}
		return err
	})
}

// loadPlan reads the scenario and the choice from a prepared folder and returns their plan.
func (f folder) loadPlan() (*scenario.Plan, error) {
	text, err := file.Read(f.ctx, filepath.Join(f.dir, choiceFile), maxChoiceBytes)
	switch {
	case f.ctx.Err() != nil:
		return nil, context.Cause(f.ctx)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s was not prepared: %w", f.dir, err)
	case err != nil:
		return nil, err
	}
	p, err := parsePrepared(filepath.Join(f.dir, choiceFile), text)
	if err != nil {
		return nil, err
	}
	s, err := scenario.Load(f.ctx, filepath.Join(f.dir, scenarioFile))
	if err != nil {
		return nil, err
	}
	plan, err := s.Plan(f.ctx, p.Choice)
	if err == nil {
		plan.Name = p.Scenario
	}
	return plan, err
}

// removeOutputs removes the output files that an earlier run has left in the folder.
func (f folder) removeOutputs(plan *scenario.Plan) error {
	return forEach(f.ctx, plan, plan.Outputs, func(o *scenario.Output, rank, round int) error {
		err := os.Remove(f.path(o.Buffer, rank, round, "out"))
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

// stagingBytes is the largest number of bytes that a launch of the staging kernel copies at
// a rank, if it fits in a quarter of the TCM. It is a multiple of one burst on every
// pseudo-channel of a memory.
const stagingBytes = 256 << 10

// stage copies the staged buffers from private memory into the windows of their ranks, on
// the simulated machine. It divides each buffer into blocks and copies each block in a
// separate launch. So a block is read only after the previous block is written, and the
// total time is the sum of the times of the blocks. stage adds the simulated time to
// r.Staging.
func (s *simulation) stage(_ int, r *Result) error {
	spec := s.Topology().Spec()
	for _, t := range s.tensors {
		if !t.Staged {
			continue
		}
		elems := t.Elems()
		block := int(min(stagingBytes, int64(spec.PE.TCM.Size)/4)) / t.Buffer.DType.Size()
		for at := 0; at < elems; at += block {
			if err := s.launchTimed(r.Staging, "staging", copyBlock, torch.PEs(s.pesOf(t)...), t.private, t.Tensor, at, min(block, elems-at)); err != nil {
				return err
			}
		}
	}
	return nil
}

// copyBlock copies n elements from the buffer `from` to the buffer `to`. In both buffers
// they begin with element `at`.
func copyBlock(t *tl.PE, from, to tl.Ptr, at, n int) {
	from, to = from.Strided(1), to.Strided(1)
	t.Store(to.At(at), t.Load(from.At(at), tl.Shape{n}, from.DType))
}
