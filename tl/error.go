package tl

import (
	"errors"
	"strings"
)

// Error says what a kernel did wrong and where: operations panic with an *Error,
// which stops the launch. Err is the reason, of this package or of the machine.
type Error struct {
	Kernel string // name of the launch
	PE     string // "sip0.cube5.pe3"
	Op     string // "Dot"
	Shapes string // the operands: "[32 64] f16, [32 64] f16"
	Line   string // of the kernel: "matmul.go:41"
	Err    error
}

// Error is all of it in one line. Kernel and PE are missing where only a zero Tile
// or a pointer was at hand.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Kernel != "" {
		b.WriteString("kernel " + e.Kernel + " on " + e.PE + ": ")
	}
	b.WriteString(e.Op)
	if e.Shapes != "" {
		b.WriteString("(" + e.Shapes + ")")
	}
	if e.Line != "" {
		b.WriteString(" at " + e.Line)
	}
	return b.String() + ": " + e.Err.Error()
}

// Unwrap gives the reason.
func (e *Error) Unwrap() error { return e.Err }

// misuse makes an Error where no PE is at hand.
func misuse(op, operands string, err error) *Error {
	return &Error{Op: op, Shapes: operands, Line: Caller(), Err: err}
}

// fail makes an Error to panic with. The PE is nil where all there was is a zero
// Tile.
//
// Operands come as text and reasons are made of text and numbers, never of tiles
// or of the kernel's slices, which would then live on the heap in every call that
// succeeds.
func (t *PE) fail(op, operands string, err error) *Error {
	e := misuse(op, operands, err)
	if t != nil {
		e.Kernel, e.PE = t.kernel, t.place.Name
	}
	return e
}

var (
	errZeroTile = errors.New("a zero Tile holds nothing: tiles come from Load, Full, Recv and operations on them")
	errForeign  = errors.New("the tile was made by another PE or another launch: pass data through queues, windows or memory")
	errPort     = errors.New("no such port: use a name, Child or Numbered")
	errDType    = errors.New("no such dtype: use tl.F16 to tl.U64")
	errRef      = errors.New("a Ref is memory, not data in TCM: Load it first")
)
