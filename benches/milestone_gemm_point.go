package benches

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/kernbench/kernbench/internal/experiment"
	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// gemmPoint is a product of m × k by k × n on one PE or on a device, in one of the ways
// to give composites their operands.
type gemmPoint struct {
	sweep    string // "pe" or "device"
	operands operands
	m, k, n  int
}

// readGemmPoint is a point of the sweep, which has all its settings from a grid.
func readGemmPoint(p experiment.Point) gemmPoint {
	size := func(name string) int { return torch.Must(strconv.Atoi(p.Get(name))) }
	i := slices.IndexFunc(operandVariants, func(o operands) bool { return o.name == p.Get("operands") })
	return gemmPoint{sweep: p.Get("sweep"), operands: operandVariants[i], m: size("m"), k: size("k"), n: size("n")}
}

// shape is the sizes of a product.
func (p gemmPoint) shape() topology.Dims3 { return topology.Dims3{M: p.m, K: p.k, N: p.n} }

// placements is where the operands and the result of a point lie. Of a device each cube
// has rows of the result and each of its PEs columns of those; a PE has copies of all
// that it needs for them in its own HBM.
func (p gemmPoint) placements() (a, b, c torch.DPPolicy) {
	a = torch.DPPolicy{Cube: torch.RowWise, PE: torch.Replicate}
	b = torch.DPPolicy{Cube: torch.Replicate, PE: torch.ColumnWise}
	c = torch.DPPolicy{Cube: torch.RowWise, PE: torch.ColumnWise}
	if p.sweep == "pe" {
		for _, on := range []*torch.DPPolicy{&a, &b, &c} {
			on.NumCubes, on.NumPEs = 1, 1
		}
	}
	return a, b, c
}

// run is the product on a machine of its own: a row, or none if operands that are to be
// loaded are more than TCM holds.
func (p gemmPoint) run(on *torch.Context, want *gemmReferences) ([]gemmRow, error) {
	onA, onB, onC := p.placements()
	x, y := values(p.m*p.k, 7), values(p.k*p.n, 11)
	a, err := on.FromSlice(x, torch.F16, torch.Shape{p.m, p.k}, onA)
	if err != nil {
		return nil, err
	}
	b, err := on.FromSlice(y, torch.F16, torch.Shape{p.k, p.n}, onB)
	if err != nil {
		return nil, err
	}
	c, err := on.Zeros(torch.F16, torch.Shape{p.m, p.n}, onC)
	if err != nil {
		return nil, err
	}
	l, err := on.Launch(p.operands.name, composite, a, b, c, p.operands.loadA, p.operands.loadB)
	if err != nil {
		return nil, err
	}
	err = l.Wait()
	var full *pe.Overflow
	if errors.As(err, &full) {
		return []gemmRow{}, nil
	}
	if err != nil {
		return nil, err
	}
	row := p.measure(on, l, c.Shards())
	if on.HasData() {
		if err := on.Check(p.String(), c, want.product(p.shape(), x, y)); err != nil {
			return nil, err
		}
		check := on.Checks()[0]
		row.Checked, row.Wrong = check.Elems, check.Wrong
	}
	if on.LooksForRaces() {
		row.Races, err = on.Races()
	}
	return []gemmRow{row}, err
}

// String names the point in checks and notes.
func (p gemmPoint) String() string {
	return fmt.Sprintf("%s %v %s", p.sweep, p.shape(), p.operands.name)
}
