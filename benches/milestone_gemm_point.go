package benches

import (
	"errors"
	"fmt"

	"github.com/kernbench/kernbench/internal/pe"
	"github.com/kernbench/kernbench/topology"
	"github.com/kernbench/kernbench/torch"
)

// gemmPoint is a product of M × K by K × N on one PE or on a device, in one of the ways
// to give composites their operands.
type gemmPoint struct {
	Sweep    string `json:"sweep" table:",setting"` // "pe" or "device"
	Operands string `json:"operands" table:",setting"`
	M        int    `json:"m" table:",setting,M"`
	K        int    `json:"k" table:",setting,K"`
	N        int    `json:"n" table:",setting,N"`

	operands operands
}

func newGemmPoint(sweep string, o operands, m, k, n int) gemmPoint {
	return gemmPoint{sweep, o.name, m, k, n, o}
}

// shape returns the sizes of a product.
func (p gemmPoint) shape() topology.Dims3 { return topology.Dims3{M: p.M, K: p.K, N: p.N} }

// placements returns where the operands and the result of a point lie. Of a device each cube
// has rows of the result and each of its PEs columns of those; a PE has copies of all
// that it needs for them in its own HBM.
func (p gemmPoint) placements() (a, b, c torch.DPPolicy) {
	a = torch.DPPolicy{Cube: torch.RowWise, PE: torch.Replicate}
	b = torch.DPPolicy{Cube: torch.Replicate, PE: torch.ColumnWise}
	c = torch.DPPolicy{Cube: torch.RowWise, PE: torch.ColumnWise}
	if p.Sweep == "pe" {
		for _, on := range []*torch.DPPolicy{&a, &b, &c} {
			on.NumCubes, on.NumPEs = 1, 1
		}
	}
	return a, b, c
}

// run multiplies on a machine, and returns a row, or none if operands that are to be
// loaded are more than TCM holds.
func (p gemmPoint) run(on *torch.Context, want *gemmReferences) []gemmRow {
	onA, onB, onC := p.placements()
	x, y := values(p.M*p.K, 7), values(p.K*p.N, 11)
	a := torch.Must(on.FromSlice(x, torch.F16, torch.Shape{p.M, p.K}, onA))
	b := torch.Must(on.FromSlice(y, torch.F16, torch.Shape{p.K, p.N}, onB))
	c := torch.Must(on.Zeros(torch.F16, torch.Shape{p.M, p.N}, onC))
	l := torch.Must(on.Launch(p.operands.name, composite, a, b, c, p.operands.loadA, p.operands.loadB))
	err := l.Wait()
	if errors.As(err, new(*pe.Overflow)) {
		return []gemmRow{}
	}
	torch.OK(err)
	row := p.measure(on, l, c.Shards())
	if on.HasData() {
		torch.OK(on.Check(p.String(), c, want.product(p.shape(), x, y)))
		check := on.Checks()[0]
		row.Checked, row.Wrong = check.Elems, check.Wrong
	}
	if on.LooksForRaces() {
		row.Races = torch.Must(on.Races())
	}
	return []gemmRow{row}
}

// String returns the name of the point in checks and notes.
func (p gemmPoint) String() string {
	return fmt.Sprintf("%s %v %s", p.Sweep, p.shape(), p.operands.name)
}
