package numeric

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/kernbench/kernbench/internal/rapidtest"
)

func TestMain(m *testing.M) { os.Exit(rapidtest.Main(m)) }

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }
